"""Plain bandit algorithms, each from its own paper, that the problems build on and that are policies by themselves."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
