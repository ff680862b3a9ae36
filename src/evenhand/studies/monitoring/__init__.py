"""Figures of a study that are watched, and its present state."""
