"""Studies that several processes decide for at the same time."""
