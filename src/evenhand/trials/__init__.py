"""Plan a trial whose arms are drawn by lot: what it can be expected to show, before it begins."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
