"""What is measured: regret, shares, group measures, intervals; streaming and batch are one definition."""
