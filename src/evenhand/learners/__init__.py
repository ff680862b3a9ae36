"""Plain bandit algorithms that problems build on, each from its own paper and a policy on its own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
