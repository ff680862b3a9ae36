"""Items that people label: which comes next, to whom, and what is known of the labels."""
