"""The experiments of Shekhar, Fields, Ghavamzadeh and Javidi (2021)."""

from evenhand.experiments.sampling import images, synthetic, tables

__all__ = ["images", "synthetic", "tables"]
