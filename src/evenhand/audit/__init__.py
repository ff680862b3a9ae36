"""Audit any log of decisions, as often as you like: was a promise kept, and are groups treated alike?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
