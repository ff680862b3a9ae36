"""Which arm now, when the reward we see is biased against a group?

Promise: regret against the unbiased reward; the bias is learned and reported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
