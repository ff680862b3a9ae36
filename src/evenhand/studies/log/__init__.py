"""The log of a study: its entries, how they are written, chained, replayed and looked up."""
