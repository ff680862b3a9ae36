"""Real data: each loader names the source, licence and known harms, and checks the files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
