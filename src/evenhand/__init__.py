"""evenhand: software that decides fairly while it learns."""

from evenhand import learners, quotas
from evenhand.protocol import Decision
from evenhand.registry import register
from evenhand.simulation import simulate
from evenhand.state import load, save
from evenhand.version import __version__

__all__ = ["Decision", "__version__", "learners", "load", "quotas", "register", "save", "simulate"]
