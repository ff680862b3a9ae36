"""Treating similar individuals similarly, when nobody can write down the metric of similarity.

Source: S. Gillen, C. Jung, M. Kearns, A. Roth, "Online Learning with an Unknown Fairness Metric" (NeurIPS 2018).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
