"""Pictures of results, drawn with matplotlib; nothing is computed here.

Each function draws into the axes given as `ax`, otherwise into pyplot's current axes, and returns them. Pictures of two
panels take two axes, and return their figure.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
