"""Who is admitted, how often, and how much."""
