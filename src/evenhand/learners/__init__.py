"""Plain bandit algorithms that problems build on, each from its own paper and a policy on its own."""

from evenhand.learners.adapter import Adapter
from evenhand.learners.discounted_lin_ucb import DiscountedLinUCB
from evenhand.learners.discounted_thompson import DiscountedThompson
from evenhand.learners.discounted_ucb import DiscountedUCB
from evenhand.learners.epsilon_greedy import EpsilonGreedy
from evenhand.learners.exp3 import Exp3
from evenhand.learners.glr_kl_ucb import GLRKLUCB
from evenhand.learners.kl_ucb import KLUCB
from evenhand.learners.moss import MOSS
from evenhand.learners.sliding_window_ucb import SlidingWindowUCB
from evenhand.learners.softmax import Softmax
from evenhand.learners.thompson import Thompson
from evenhand.learners.ucb1 import UCB1

__all__ = [
    "GLRKLUCB",
    "KLUCB",
    "MOSS",
    "UCB1",
    "Adapter",
    "DiscountedLinUCB",
    "DiscountedThompson",
    "DiscountedUCB",
    "EpsilonGreedy",
    "Exp3",
    "SlidingWindowUCB",
    "Softmax",
    "Thompson",
]
