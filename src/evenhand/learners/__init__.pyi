from .adapter import Adapter as Adapter
from .changing import DiscountedUCB as DiscountedUCB, SlidingWindowUCB as SlidingWindowUCB
from .random import EpsilonGreedy as EpsilonGreedy, Thompson as Thompson
from .indices import KLUCB as KLUCB, UCB1 as UCB1
from .lin_ucb import LinUCB as LinUCB
from .river_bandits import from_river as from_river
from .scores import Scores as Scores
from .sklearn_models import from_sklearn as from_sklearn
from .tsallis_inf import TsallisINF as TsallisINF

OF_LIBRARIES: tuple[str, ...]
