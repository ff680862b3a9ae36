"""What a policy states about itself, read at one place: nobody else asks an object for names that it may lack.

evenhand's own classes declare their traits once, as `_traits = Traits(...)`. A policy of another origin writes them as
attributes, under the names that they have here; what it leaves out has the default, and so has a number, a word, yes or
no or a method that it has as something else, such as a list `plays` or a number `bias` of its own. So both are
described alike.

The table of a policy's arms that a notebook shows: groups, promises, decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from evenhand.display.html import Table
from evenhand.kernels.arrays import Ints
from evenhand.promises.promise import Promise
from evenhand.promises.versions import in_order
from evenhand.protocol import Decision, Label

Feedback = Literal["reward", "rows", "samples", "labels"]
Work = Literal["numbers", "pairs", "squares"]


@dataclass(frozen=True)
class Traits:
    """What a policy is, promises, and is told.

    An author declares what a class is, such as `contextual`, `reward_range`, `feedback` or `learns`, where it differs
    from the default. What a policy has as an attribute of that name, such as `arms`, `promise` or `learner`, is read
    from there, and `labels` follow from it.

    Attributes
    ----------
    arms : the labels of its arms; None where it has none, or does not know them yet.
    labels : whom its decisions are for: its arms, or the groups of a sampler; () where rounds bring their own.
    promise : what it promises, an `eh.Promise`, its arms in the order of the policy's; None where it promises nothing.
    holds_when : when it keeps its promise, "at every round", "at the horizon" or "in the long run"; None without one.
    horizon : the round up to which it decides, or keeps its promise; None for no end.
    learner : the learner that it is built on, None where it has none.
    membership : the groups of its arms, its own or its learner's; None where it knows none.
    bias : its method that returns what it learned about society's bias, or its learner's; None where it learns none.
    groups : the groups as users read them, arm -> group, or a sampler's groups; None where there are none.
    plays : how many arms it plays in a round.
    retired : the arms that are no longer on offer.
    contextual : whether it sees contexts; None where it does not say.
    own_rows : whether each arm must be shown a row of its own, as the policy learns one regression for all of them.
    scored : the lowest and the highest of the scores that `ask` takes, by which somebody's own model ranks the arms,
        infinite where they only rank; None where it takes none.
    dimension : of the contexts, None before it is known.
    reward_range : the least and the largest reward that it takes; None where it does not say.
    feedback : what a decision is told: "reward", "rows" of data, "samples" of a causal model, or an item's "labels".
    audited : whether an auditor's verdicts are told beside the reward.
    compiled : whether all of it runs in kernels, where it has kernels.
    learns : whether it is meant to do better for what it is told.
    work : how the work for a decision grows with what is shown: with its "numbers", with the "pairs" of its rows, or
        with its rows by the "squares" of its columns.
    hands_out : the type of its tickets.
    asks_several : the argument by which `ask` hands out several tickets at once, "" where there is none.
    conditional_arguments : those that matter only now and then, such as once answers contradict each other.
    own_choices : whether it learns from its own choices alone.
    defers_refusals : whether a proposal that the rule refuses waits, so that its learner does not learn from the play
        in its place, whose probability it is told as 0.
    """

    arms: tuple[Label, ...] | None = None
    labels: tuple[Label, ...] = ()
    promise: Any = None
    holds_when: str | None = None
    horizon: int | None = None
    learner: Any = None
    membership: Any = None
    bias: Callable[[], Any] | None = None
    groups: Any = None
    plays: int = 1
    retired: tuple[Label, ...] = ()
    contextual: bool | None = None
    own_rows: bool = False
    scored: tuple[float, float] | None = None
    dimension: int | None = None
    reward_range: tuple[float, float] | None = None
    feedback: Feedback = "reward"
    audited: bool = False
    compiled: bool = True
    learns: bool = True
    work: Work = "numbers"
    hands_out: type[Any] = Decision
    asks_several: str = ""
    conditional_arguments: tuple[str, ...] = ()
    own_choices: bool = False
    defers_refusals: bool = False


UNSAID: Any = object()
"""What a policy says of a trait that it does not have."""
AT_HAND = ("arms", "promise", "horizon", "learner", "membership", "bias", "groups", "dimension", "retired")
"""The traits that an object of evenhand's has as attributes, beside those that it declares."""
STATED = tuple(name for name in Traits.__dataclass_fields__ if name != "labels")
KINDS: dict[str, Any] = {
    name: type(one.default) for name, one in Traits.__dataclass_fields__.items() if isinstance(one.default, (int, str))
} | {"bias": Callable}


def traits_of(policy: object) -> Traits:
    """Return the traits of a policy, a learner, or a class of either.

    >>> import evenhand as eh
    >>> traits = traits_of(eh.quotas.FairUCB({"ads": 0.2, "news": 0.3}))
    >>> traits.labels, traits.holds_when, traits.feedback
    (('ads', 'news'), 'at every round', 'reward')
    """
    declared: Traits | None = getattr(policy, "_traits", None)
    said = ((name, getattr(policy, name, UNSAID)) for name in (STATED if declared is None else AT_HAND))
    said = ((name, value) for name, value in said if isinstance(value, KINDS.get(name, object)))
    stated = {name: value for name, value in said if value is not UNSAID and not isinstance(value, property)}
    learner = stated.get("learner")
    for name in ("membership", "bias"):
        stated.setdefault(name, getattr(learner, name, None))
    arms = () if isinstance(policy, type) else tuple(stated.get("arms") or ())
    if stated.get("promise") is None:
        stated["holds_when"] = None
    else:
        if declared is None or declared.holds_when is None:
            stated.setdefault("holds_when", "at every round")
        if arms and isinstance(stated["promise"], Promise) and stated["promise"].arms != arms:
            stated["promise"] = in_order(stated["promise"], arms)
    labels = arms or (() if isinstance(policy, type) else tuple(stated.get("groups") or ()))
    return replace(declared or Traits(), labels=labels, **stated)


def facts(traits: Traits) -> dict[str, Any]:
    """Return what a notebook says of a policy beside its arguments: its learner, and when it keeps its promise."""
    owed = {} if traits.holds_when is None else {"promise": f"kept {traits.holds_when}"}
    return ({} if traits.learner is None else {"learner": traits.learner}) | owed


def arms_table(
    traits: Traits, counts: Sequence[int] | None = None, waiting: Ints | None = None, rounds: int = 0
) -> Table:
    """Return one row per arm: its group, what it is promised, how often it was decided for, its open tickets.

    Parameters
    ----------
    counts : the decisions for each arm, as far as they are known; None before the first round.
    waiting : the open tickets of each arm.
    rounds : how many rounds were decided.
    """
    arms = traits.arms or ()
    columns: dict[str, Callable[[int], Any]] = {"arm": arms.__getitem__}
    if traits.membership is not None:
        columns["group"] = lambda i: traits.membership.names[traits.membership.codes[i]]
    promise = traits.promise
    if promise is not None and (promise.owes or not promise.windows):
        columns["promised share"] = promise.shares.__getitem__
    if promise is not None and promise.windows:
        windows = {members: f"{plays} in {rounds} rounds" for members, (plays, rounds) in promise.windows}
        columns["promised window"] = lambda i: windows.get((arms[i],), "")
    if counts is not None and waiting is not None:
        known = sum(counts) == rounds * traits.plays
        columns["decisions" if known else "decisions since it was loaded"] = counts.__getitem__
        if known and rounds:
            columns["share"] = lambda i: counts[i] / rounds
        columns["open tickets"] = waiting.__getitem__
    return Table([*columns], len(arms), lambda i: [cell(i) for cell in columns.values()], "Arms")
