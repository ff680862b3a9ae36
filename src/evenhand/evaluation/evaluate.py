"""`evaluate` estimates what a policy would have earned, from the log of another policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from evenhand.arguments import one_of, real, whole, yes_or_no
from evenhand.data.tables import ROUNDING
from evenhand.display.progress import ProgressBar
from evenhand.errors import NOTHING, ArgumentError, Wording, argument, expected
from evenhand.evaluation.comparison import follow, side_by_side
from evenhand.evaluation.diagnosis import check_log, check_normal, known_weight, single_weight, uncovered
from evenhand.evaluation.estimators import Candidate, read_candidate, read_estimates
from evenhand.evaluation.findings import Interval
from evenhand.evaluation.logged import Logged, check_columns, read_logged
from evenhand.evaluation.refitted import Refitted
from evenhand.evaluation.replay import learns
from evenhand.evaluation.replay_value import ReplaySettings, evaluate_learners
from evenhand.evaluation.value_curve import Stationary, ValueCurve
from evenhand.labels import Labels, numbered
from evenhand.protocol import Estimator as Model
from evenhand.protocol import Label, Policy
from evenhand.rng import Seed, draw_seed

if TYPE_CHECKING:
    import pandas as pd

Estimator = Literal["dr", "ips", "snips", "dm", "replay"]
MODELLED = ("dr", "dm")


def evaluate(
    log: pd.DataFrame,
    policy: Any,
    *,
    arm: str,
    reward: str,
    propensity: str | Mapping[Label, str] | None = None,
    contexts: Any = None,
    estimator: Estimator | Sequence[Estimator] = "dr",
    level: float = 0.95,
    each: bool = False,
    interval: Interval = "anytime",
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
    anytime: bool | None = None,
) -> Any:
    """Return the value of a policy, with an interval, from a log of decisions that another policy took.

    Parameters
    ----------
    log : one row per decision, in the order in which they were taken. Data frames for `policy`, `contexts` and `model`
        that carry the log's row labels are matched by them.
    policy : a distribution: a dict arm -> probability; a dict position -> such a dict; a data frame with the arms as
        columns and a row for each row of the log; an array (n_rows, n_arms), in the order of the arms; or a function of
        the log (of the contexts where they are named) that returns one. Or a policy that learns, such as every one of
        `eh.quotas` and `eh.learners`, which is replayed from its start. Or a `Refitted`, or an estimator of
        scikit-learn, which is fitted to the rows before each of 20 blocks. Or several, a dict name -> policy or a list,
        which are compared with the first; their differences hold together. The order of the arms is that of the
        categories of their column; numbers, and bands of numbers, stand by size. Arrays over other texts are refused.
    arm, reward : names of columns; rewards are numbers in [0, 1].
    propensity : the column with the probability of the arm in its row, given the past and what was shown; or a dict arm
        -> column, with the probabilities of all arms; columns `<column>_<arm>` are found by themselves, such as
        `propensity_<arm>` of a study's export. Without either each arm's share of the log is used.
    contexts : what was shown: names of columns, of which those with text are encoded one-hot, or an array (n_rows, d),
        or (n_rows, n_arms, d) in the order of the arms.
    estimator : "dr" (doubly robust), "ips", "snips" or "dm" (what the model alone expects, without an interval), or
        several, of which `estimates` shows all and the other attributes are of the first. A policy that learns is
        replayed ("replay").
    level : the probability with which the interval holds, or with several policies all intervals of their differences.
    each : whether every interval of a difference holds with that probability by itself.
    interval : "anytime" holds at every row at once, so that it may be looked at as often as you like. "once" holds for
        one look at the whole log, whose length was fixed before; where the largest weight is known, it is narrower. For
        a policy whose chances are 0 or the same multiple of the log's, where neither depends on rewards and these are 0
        and 1, it is Clopper and Pearson's. "normal" is narrower still, for one look at many rows: by their weights,
        effectively at least 30 of the policy's, and of those in which policies differ, must have a reward above their
        mean, and 30 one below it; units must be three, and 30 by their weights where an arm is drawn for a whole unit.
    stationary : whether the value is the same in every row. If so, the interval may be the intersection of those after
        fewer rows, and rows in which an arm of the policy had no chance may be left out. If not, the interval is for
        the mean over the rows so far, however rewards change over time.
    position : a column with the position in which an arm was shown, where propensities depend on it.
    order : a column by which the rows must be sorted, or several, such as ["time", "id"]; a log that is not sorted by
        them is refused, and a note says how many rows have equal values.
    unit : the column that says which rows belong together, such as those of one person. Each unit then counts once, by
        the mean of its rows, in the order of their first rows, and may get no more rows once it was looked at. A normal
        interval is of the mean over rows instead, and robust to units (CR2, Student's quantile). Where both means
        differ a note says so. Without it rows are taken to be independent. A replay always takes them so, and
        refuses it.
    model : for "dr": a classifier or regressor of scikit-learn, or the expected rewards themselves, a
        dict arm -> reward, a data frame with the arms as columns, or an array (n_rows, n_arms), in the order of the
        arms. Without it the means of the rows before are taken. A model is trained on earlier rows alone, or for a
        normal interval of a log that no learner made, on other folds.
    rounds : for a replay, to how many rounds the value refers; by default as many as all replays are sure to reach, or
        the most of 2, 4, 8, ... times as many that all have reached, for which choice the interval allows.
    replays : how many replays the value averages: the first in the order of the log, the others shuffled. With one
        replay the interval holds at every round at once, with several at each round by itself.
    largest_weight : the largest possible pi(a) / p(a), if it is known before the data, such as from the floor of a
        lottery. Where the propensities never change it is computed.
    seed : seed of the replays.
    progress : show a progress bar, on standard error or in the notebook.
    anytime : another way to write `interval`: True for "anytime", False for "once".

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
    estimators = _estimators(estimator)
    level = real("level", level, above=0, below=1)
    if anytime is not None:
        interval = "anytime" if yes_or_no("anytime", anytime) else "once"
    one_of("interval", interval, get_args(Interval))
    for name, value in {"stationary": stationary, "each": each, "progress": progress}.items():
        yes_or_no(name, value)
    whole("replays", replays, low=1)
    largest_weight = None if largest_weight is None else real("largest_weight", largest_weight, low=1)
    first = draw_seed(seed)
    if isinstance(unit, str) and unit in (arm, reward):
        raise ArgumentError(expected("unit", "another column than those of the arm and the reward", unit))
    columns: dict[str, Any] = {"arm": arm, "reward": reward, "position": position, "order": order, "unit": unit}
    logged = read_logged(log, **columns, propensity=propensity, contexts=contexts)
    named = _named(policy, logged)
    if _all_learn(named):
        if estimators not in (["dr"], ["replay"]):
            what = "'replay' for a policy that learns"
            raise ArgumentError(expected("estimator", what, estimator, "the weights of a whole history multiply"))
        _unused("where a policy is replayed", model=model, largest_weight=largest_weight)
        _unused("where a policy is replayed, which takes all rows to be independent; keep one row a unit", unit=unit)
        settings = ReplaySettings(level, interval, stationary, rounds, replays, first, each)
        with ProgressBar("replays", replays * len(named), shown=progress) as bar:
            return evaluate_learners(named, logged, arm, settings, bar)
    if "replay" in estimators:
        raise ArgumentError(expected("estimator", "'dr', 'ips', 'snips' or 'dm' for a distribution", estimator))
    _unused("for a distribution, whose value is that of all rows; shorten the log instead", rounds=rounds)
    if not set(estimators) & {*MODELLED}:
        _unused(f"for {', '.join(estimators)}, which uses no model", model=model)
    if interval == "normal":
        normal = argument("interval", "normal")
        _unused(Wording("with ", normal, ", which bounds no weight"), largest_weight=largest_weight)
        if logged.units is not None and logged.units.max() < 2:
            got = Wording("'normal' of two units, whose spread says nothing of others")
            raise ArgumentError(expected("interval", "'anytime' or 'once'", got))
    check_log(logged, arm)
    found = []
    for value_curves in _value_curves(named, logged, estimators, model, largest_weight, interval, stationary):
        with ProgressBar("rows", next(iter(value_curves.values())).length, shown=progress) as bar:
            found.append(follow(value_curves, bar, level=level, interval=interval, stationary=stationary, each=each))
    return found[0] if len(found) == 1 else side_by_side(found)


def _estimators(given: Any) -> list[Any]:
    """Return the estimators that are asked for, one or several."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    for one in found or [given]:
        one_of("estimator", one, get_args(Estimator))
    return list(dict.fromkeys(found))


def _all_learn(named: Mapping[str, Any]) -> bool:
    """Return whether all policies learn, so that they are replayed; refuse some that do beside some that do not."""
    kinds = {learns(policy) for policy in named.values()}
    if len(kinds) > 1:
        hint = "compare learners with learners, distributions with distributions"
        raise ArgumentError(expected("policy", "only policies that learn, or only distributions", list(named), hint))
    return kinds == {True}


def _value_curves(
    policies: Mapping[str, Any],
    logged: Logged,
    estimators: Sequence[Stationary],
    model: Any,
    largest_weight: float | None,
    interval: Interval,
    stationary: bool,
) -> Iterator[dict[str, ValueCurve]]:
    """Yield for each estimator the distributions ready to be followed through the log, or through the rows that try
    all of them."""
    # What is given row by row belongs to the rows as they were given; what is fitted sees them in the order of units.
    given, rows = logged, np.arange(len(logged.codes))
    if logged.units is not None:
        rows = np.argsort(logged.units, kind="stable")
        logged = logged.take(rows)
    first = max((each.ends(logged)[0] for each in policies.values() if isinstance(each, Refitted)), default=0)
    candidates = {
        name: each.candidate(logged, first) if isinstance(each, Refitted) else read_candidate(each, given).only(rows)
        for name, each in policies.items()
    }
    estimates = None
    if isinstance(model, Model):
        estimates = read_estimates(model, logged, past_alone=interval != "normal" or not logged.fixed)
    elif model is not None:
        estimates = read_estimates(model, given, past_alone=True).only(rows)
    without = {name: uncovered(logged, candidate) for name, candidate in candidates.items()}
    used = np.arange(len(rows)) >= first
    logged = logged.take(used) if first else logged
    if stationary and not logged.fixed:
        covered = ~np.logical_or.reduce(list(without.values()))
        logged, used = logged.only(covered[used]), used & covered
    estimates = None if estimates is None else estimates.only(used)
    candidates = {name: candidate.only(used) for name, candidate in candidates.items()}
    if interval == "normal":
        _check_normal(logged, candidates)
    weights: dict[str, Any] = {}
    for name, candidate in candidates.items():
        if not without[name][used].any():
            weights[name] = known_weight(logged, candidate, largest_weight), single_weight(logged, candidate)
    for one in estimators:
        more = one, estimates if one in MODELLED else None
        yield {
            name: ValueCurve(logged, mine, *more, *weights.get(name, (None, None)), identified=name in weights)
            for name, mine in candidates.items()
        }


def _check_normal(logged: Logged, candidates: Mapping[str, Candidate]) -> None:
    """Refuse normal intervals of values, and of differences from the first, that rest on too few rows."""
    each = {name: candidate.weights(logged) for name, candidate in candidates.items()}
    first, base = next(iter(each.items()))
    for name, mine in each.items():
        check_normal(logged.rewards, mine, logged.units)
        if not np.allclose(mine, base, rtol=ROUNDING, atol=0.0):
            of = f"the difference of {name!r} from {first!r}"
            check_normal(logged.rewards, np.abs(mine - base), logged.units, of)


def _unused(where: str, **arguments: Any) -> None:
    """Refuse an argument that would have no effect."""
    for name, value in arguments.items():
        if value is not None:
            raise ArgumentError(expected(name, Wording(NOTHING, " ", where), value))


def _named(policy: Any, logged: Logged) -> dict[str, Any]:
    """Return the policies by their names, those of a list by their classes; a list of numbers is one policy, and an
    estimator is one that is fitted to the log."""
    if isinstance(policy, (list, tuple)) and policy and all(map(_is_one, policy)):
        kinds = ["distribution" if isinstance(one, Mapping) else type(one).__name__ for one in policy]
        policy = dict(zip(numbered(kinds), policy, strict=True))
    named = {"policy": policy}
    if isinstance(policy, Mapping) and not (logged.positions and Labels(logged.places).order(list(policy))):
        check_columns("policy", policy, logged)
        arrays = [isinstance(one, Sized) and not isinstance(one, str) for one in policy.values()]
        several = all(array or _is_one(one) for array, one in zip(arrays, policy.values(), strict=True))
        if policy and several and all(isinstance(name, str) for name in policy):
            named = dict(policy)
    return {
        name: Refitted(one) if isinstance(one, Model) and not isinstance(one, Refitted | Policy) else one
        for name, one in named.items()
    }


def _is_one(given: Any) -> bool:
    """Return whether this is a policy, whatever the log is."""
    return learns(given) or callable(given) or isinstance(given, (Mapping, Refitted, Model))
