from .adapter import Adapter as Adapter
from .discounted_ucb import DiscountedUCB as DiscountedUCB
from .epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .exp3 import Exp3 as Exp3
from .kl_ucb import KLUCB as KLUCB
from .lin_ucb import LinUCB as LinUCB
from .moss import MOSS as MOSS
from .river_bandits import from_river as from_river
from .sklearn_models import from_sklearn as from_sklearn
from .sliding_window_ucb import SlidingWindowUCB as SlidingWindowUCB
from .thompson import Thompson as Thompson
from .ucb1 import UCB1 as UCB1

OF_LIBRARIES: tuple[str, ...]
