"""What is measured: regret, the cost of a promise, group measures, drift."""
