"""Policies: how they are asked and told, what they state about themselves, and how they are compiled and saved."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
