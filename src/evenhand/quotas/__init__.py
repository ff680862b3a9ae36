"""Choose arms when each of them is owed a share of the rounds.

Promise: at every round t, N_i(t) >= floor(r_i t) - alpha.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
