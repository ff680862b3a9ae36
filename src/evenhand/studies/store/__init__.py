"""The store: tables, connections, transactions, and who may write when."""
