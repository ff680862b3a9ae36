"""What users see: progress while they wait, and results in a notebook."""
