"""Which candidate intervention has the best outcome among those that are counterfactually fair?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
