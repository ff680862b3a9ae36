"""`evaluate` estimates what a policy would have earned, from the log of another policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arguments import one_of, real, whole, yes_or_no
from evenhand.display.progress import ProgressBar
from evenhand.errors import ArgumentError, wanted
from evenhand.evaluation.comparison import compared, follow
from evenhand.evaluation.diagnosis import check_largest, check_log, known_weight, uncovered
from evenhand.evaluation.estimators import read_candidate, read_estimates
from evenhand.evaluation.logged import Logged, check_columns, read_logged
from evenhand.evaluation.replayed import ReplaySettings, evaluate_learners, learns
from evenhand.evaluation.value_curve import Stationary, ValueCurve
from evenhand.labels import numbered
from evenhand.protocol import Estimator as Model
from evenhand.protocol import Label
from evenhand.rng import Seed, draw_seed

if TYPE_CHECKING:
    import pandas as pd

Estimator = Literal["dr", "ips", "snips", "replay"]
ESTIMATORS = ("dr", "ips", "snips", "replay")


def evaluate(
    log: pd.DataFrame,
    policy: Any,
    *,
    arm: str,
    reward: str,
    propensity: str | Mapping[Label, str] | None = None,
    contexts: Any = None,
    estimator: Estimator = "dr",
    level: float = 0.95,
    anytime: bool = True,
    stationary: bool = False,
    position: str | None = None,
    order: str | Sequence[str] | None = None,
    unit: str | None = None,
    model: Any = None,
    rounds: int | None = None,
    largest_weight: float | None = None,
    replays: int = 10,
    seed: Seed = 0,
    progress: bool = False,
) -> Any:
    """Return the value of a policy, with an interval, from a log of decisions that another policy took.

    Parameters
    ----------
    log : one row per decision, in the order in which they were taken. Data frames for `policy`, `contexts` and `model`
        that carry the log's row labels are matched by them.
    policy : a distribution: a dict arm -> probability; a dict position -> such a dict; a data frame with the arms as
        columns and a row for each row of the log; an array (n_rows, n_arms), in the order of the arms; or a function of
        the log (of the contexts where they are named) that returns one. Or a policy that learns, such as every one of
        `eh.quotas` and `eh.learners`, which is replayed from its start. Or several, a dict name -> policy or a list,
        which are compared with the first. The order of the arms is that of the categories of their column; numbers, and
        bands of numbers, stand by size. Arrays over other texts are refused.
    arm, reward : names of columns; rewards are numbers in [0, 1].
    propensity : the column with the probability of the arm in its row, given the past and what was shown; or a dict arm
        -> column, with the probabilities of all arms. Without it each arm's share of the log is used.
    contexts : what was shown: names of columns, or an array (n_rows, d), or (n_rows, n_arms, d) in the order of the
        arms.
    estimator : "dr" (doubly robust), "ips", "snips" or "replay". A policy that learns is replayed.
    level : the probability with which the interval holds.
    anytime : whether it holds at every round at once, so that it may be looked at as often as you like; otherwise it is
        a normal interval for the last row alone, which needs many rows.
    stationary : whether the value is the same in every row. If so, the interval may be the intersection of those after
        fewer rows, and rows in which an arm of the policy had no chance may be left out. If not, the interval is for
        the mean over the rows so far, however rewards change over time.
    position : a column with the position in which an arm was shown, where propensities depend on it.
    order : a column by which the rows must be sorted, or several, such as ["time", "id"]; a log that is not sorted by
        them is refused, and a note says how many rows have equal values.
    unit : the column that says which rows belong together, such as those of one person. With `anytime` each unit counts
        once, by the mean of its rows, in the order of their first rows; otherwise the normal interval is robust to it
        (CR2, Student's quantile). Without it rows are taken to be independent.
    model : for "dr": a classifier or regressor of scikit-learn, or the expected rewards themselves, a
        dict arm -> reward, a data frame with the arms as columns, or an array (n_rows, n_arms), in the order of the
        arms. Without it the means of the rows before are taken. With
        `anytime`, or where the log was made by a learner, a model is trained on earlier rows alone, otherwise on other
        folds.
    rounds : for a replay, to how many rounds the value refers; by default as many as every replay is sure to reach.
    replays : how many replays the value averages: the first in the order of the log, the others shuffled. With one
        replay the interval holds at every round at once, with several at each round by itself.
    largest_weight : the largest possible pi(a) / p(a), if it is known before the data, such as from the floor of a
        lottery. Where the propensities never change it is computed.
    seed : seed of the replays.
    progress : show a progress bar, on standard error or in the notebook.

    Returns
    -------
    Evaluation
        Or a `Comparison`, where several policies are given.

    Raises
    ------
    TableError
        If a column is missing, a cell is empty, a reward or propensity is invalid, or the log cannot answer the
        question: it has one row or arm, its policy drew nothing at random, or its arms refute its propensities.
    UnknownArmError
        If the policy does not know an arm of the log, or plays one that the log never tried.
    ContextError
        If contexts are missing or of another shape.
    ArgumentError
        If another argument is invalid.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"item": ["a", "b"] * 500, "click": [1, 0, 0, 0] * 250, "p": 0.5})
    >>> found = evaluate(log, {"a": 0.9, "b": 0.1}, arm="item", reward="click", propensity="p", estimator="ips")
    >>> round(found.value, 2), round(found.low, 2), round(found.high, 2)
    (0.45, 0.36, 0.53)
    """
    one_of("estimator", estimator, ESTIMATORS)
    level = real("level", level, above=0, below=1)
    for name, value in {"anytime": anytime, "stationary": stationary, "progress": progress}.items():
        yes_or_no(name, value)
    whole("replays", replays, low=1)
    largest_weight = None if largest_weight is None else real("largest_weight", largest_weight, low=1)
    first = draw_seed(seed)
    columns: dict[str, Any] = {"arm": arm, "reward": reward, "position": position, "order": order, "unit": unit}
    logged = read_logged(log, **columns, propensity=propensity, contexts=contexts)
    named = _named(policy, logged)
    kinds = {name: learns(each) for name, each in named.items()}
    if any(kinds.values()):
        if not all(kinds.values()):
            mend = "compare learners with learners, distributions with distributions"
            raise ArgumentError(wanted("policy", "only policies that learn, or only distributions", list(named), mend))
        if estimator not in ("dr", "replay"):
            what = "'replay' for a policy that learns"
            raise ArgumentError(wanted("estimator", what, estimator, "the weights of a whole history multiply"))
        _unused("where a policy is replayed", model=model, largest_weight=largest_weight, unit=unit)
        settings = ReplaySettings(level, anytime, stationary, rounds, replays, first)
        with ProgressBar("replays", replays * len(named), shown=progress) as bar:
            return compared(*evaluate_learners(named, logged, arm, settings, bar))
    if estimator == "replay":
        raise ArgumentError(wanted("estimator", "'dr', 'ips' or 'snips' for a distribution", estimator))
    _unused("for a distribution, whose value is that of all rows; shorten the log instead", rounds=rounds)
    if estimator != "dr":
        _unused(f"for {estimator}, which uses no model", model=model)
    if not anytime:
        _unused("with anytime=False, as the normal interval bounds no weight", largest_weight=largest_weight)
    check_log(logged, arm)
    value_curves = _courses(named, logged, estimator, model, largest_weight, anytime, stationary)
    with ProgressBar("rows", next(iter(value_curves.values())).length, shown=progress) as bar:
        return follow(value_curves, bar, level=level, anytime=anytime, stationary=stationary and anytime)


def _courses(
    policies: Mapping[str, Any],
    logged: Logged,
    estimator: Stationary,
    model: Any,
    largest_weight: float | None,
    anytime: bool,
    stationary: bool,
) -> dict[str, ValueCurve]:
    """Return each distribution ready to be followed through the log, or through the rows that try all of them."""
    candidates = {name: read_candidate(each, logged) for name, each in policies.items()}
    estimates, read, order = None, logged, None
    if logged.units is not None:
        order = np.argsort(logged.units, kind="stable")
        candidates = {name: candidate.only(order) for name, candidate in candidates.items()}
        logged = logged.by_unit(order)
    if estimator == "dr":
        trained = isinstance(model, Model)
        estimates = read_estimates(model, logged if trained else read, past_alone=anytime or not logged.fixed)
        if order is not None and estimates is not None and not trained:
            estimates = estimates.only(order)
    without = {name: uncovered(logged, candidate) for name, candidate in candidates.items()}
    if stationary and not logged.fixed:
        covered = ~np.logical_or.reduce(list(without.values()))
        logged, estimates = logged.only(covered), None if estimates is None else estimates.only(covered)
        candidates = {name: candidate.only(covered) for name, candidate in candidates.items()}
        without = {name: rows[covered] for name, rows in without.items()}
    value_curves = {}
    for name, candidate in candidates.items():
        largest, identified = None, not without[name].any()
        if identified and largest_weight is None:
            largest = known_weight(logged, candidate)
        elif identified and largest_weight is not None:
            check_largest(largest_weight, candidate, logged)
            largest = largest_weight
        value_curves[name] = ValueCurve(logged, candidate, estimator, estimates, largest, identified=identified)
    return value_curves


def _unused(where: str, **arguments: Any) -> None:
    """Refuse an argument that would have no effect."""
    for name, value in arguments.items():
        if value is not None:
            raise ArgumentError(wanted(name, f"None {where}", value))


def _named(policy: Any, logged: Logged) -> dict[str, Any]:
    """Return the policies by their names, those of a list by their classes; a list of numbers is one policy."""
    if isinstance(policy, (list, tuple)) and all(learns(one) or isinstance(one, Mapping) for one in policy):
        names = numbered([type(one).__name__ if learns(one) else "distribution" for one in policy])
        policy = dict(zip(names, policy, strict=True))
    if not isinstance(policy, Mapping) or not policy or (logged.positions and set(policy) == set(logged.places)):
        return {"policy": policy}
    check_columns("policy", policy, logged)
    several = all(
        learns(one) or callable(one) or (isinstance(one, Sized) and not isinstance(one, str)) for one in policy.values()
    )
    return dict(policy) if several and all(isinstance(name, str) for name in policy) else {"policy": policy}
