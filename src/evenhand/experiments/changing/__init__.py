"""Learners for means that change, compared on the problems of their papers."""

from evenhand.experiments.changing.besson_problem_1 import besson_problem_1
from evenhand.experiments.changing.garivier_moulines import garivier_moulines
from evenhand.experiments.changing.promises import promises
from evenhand.experiments.changing.router import router

__all__ = ["besson_problem_1", "garivier_moulines", "promises", "router"]
