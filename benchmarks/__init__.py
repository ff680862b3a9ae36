"""How fast evenhand runs, measured as ratios in one run."""
