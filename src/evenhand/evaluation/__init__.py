"""Estimate from the log of another policy what a policy would have earned, with an interval, before it goes live."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
