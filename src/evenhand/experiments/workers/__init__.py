"""What several workers of one study cost."""

from evenhand.experiments.workers.staleness import staleness

__all__ = ["staleness"]
