"""What commands read: files, tables, options and what users type."""
