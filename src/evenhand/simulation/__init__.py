"""Simulation of policies in worlds: the compiled loop, replications, backends and histories."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
