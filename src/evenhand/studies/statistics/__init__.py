"""What was counted of a log, and whether its promise was kept."""
