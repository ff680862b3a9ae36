"""evenhand: software that decides fairly while it learns."""

from evenhand.version import __version__

__all__ = ["__version__"]
