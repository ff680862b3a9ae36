"""Choose arms when the observed reward is biased against a group.

Promise: regret is measured against the unbiased reward; the bias is learned and reported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
