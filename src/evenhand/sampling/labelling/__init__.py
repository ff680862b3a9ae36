"""Items that people label: which comes next, who labels it, and what is known about the labels."""
