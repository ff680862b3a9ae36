"""From which group should the next training example come, for the smallest risk of the worst-off group?"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
