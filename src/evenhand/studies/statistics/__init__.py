"""The counts of a log, and whether its promise was kept."""
