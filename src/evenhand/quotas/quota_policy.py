"""What FairLearn, DeadlineLearn and their kin have in common: a promise, a learner, and the rule between them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from evenhand.errors import ArgumentError, SharesError, Wording, expected
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import bind
from evenhand.labels import Labels, is_by_label
from evenhand.learners.adapter import Adapter, learner_facts
from evenhand.parameters import locked, replaceable, require_fresh
from evenhand.policy.answers import LearnerAnswers
from evenhand.policy.engine import Calls
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import Kernels, deterministic, unknown_probability
from evenhand.promises.promise import DEADLINE_LEARN, Promise, check_rounds, read_promise
from evenhand.promises.reading import is_set
from evenhand.promises.versions import named_as
from evenhand.protocol import UNKNOWN, Chance, Label, arm_labels
from evenhand.quotas.pending_proposal import always, no_proposal
from evenhand.quotas.proposer import KernelProposer, Proposer, PythonCalls, PythonProposer
from evenhand.quotas.quota_kernels import (
    QuotaRule,
    RankingRule,
    choose_first,
    choose_ranked,
    compose,
    rank_proposal,
    update_learner,
)
from evenhand.rng import Seed, child

Shares = Sequence[Any] | Mapping[Label, Any]

SILENT = {"tolerance": 0.0, "plays": 1, "cap_tolerance": 0.0}
"""What arguments of a promise are that say nothing; the others are None."""
BY_RULE = (
    "What it costs to keep the promise holds for this rule alone: the learner sees contexts, and another rule may "
    "choose better for whom an arm that is owed its share is played."
)


def read_owed(learner: object, shares: Any, said: Mapping[str, Any], arms: int | Sequence[Label] | None) -> Promise:
    """Return the promise that a policy is given, as such or by its parts; where neither names the arms, the learner's
    labels do.

    Raises
    ------
    ArgumentError
        If anything is said beside a promise, or it is one of other arms.
    """
    if not isinstance(shares, Promise):
        named = is_by_label(shares)
        if arms is None and (not named or any(map(is_set, shares))):
            arms = learner_facts(learner).arms
        return read_promise(shares, **said, arms=arms)
    for name, value in said.items():
        if value != SILENT.get(name):
            hint = "put it into the promise"
            raise ArgumentError(expected(name, "nothing together with a promise, which states it", value, hint))
    stated = shares if arms is None else named_as(shares, arm_labels(arms))
    if arms is not None and set(arm_labels(arms)) != set(stated.arms):
        raise ArgumentError(expected("arms", Wording("the arms of the promise ", list(shares.arms)), arms))
    return stated


def promise_over(
    learner: object, shares: object, tolerance: object, arms: int | Sequence[Label] | None, plays: int = 1
) -> Promise:
    """Do what `read_owed` does for policies that promise shares of single arms alone."""
    promise = read_owed(learner, shares, {"tolerance": tolerance, "plays": plays}, arms)
    check_rounds(promise)
    if promise.sets or promise.windows or promise.caps or promise.plays != plays or promise.offers != "any":
        hint = Wording(DEADLINE_LEARN, " keeps every promise")
        raise SharesError(expected("shares", "only shares of single arms", Wording(str(promise)), hint))
    return promise


class QuotaPolicy(KernelPolicy):
    """What FairLearn and its kin have in common: a `rule` around a learner.

    A subclass calls `_set_up` in its constructor and writes `_quota_parameters(learner)` and `_quota_memory(learner)`,
    which return the NamedTuples of its rule, the learner's own as their last field.
    """

    _rule: QuotaRule | RankingRule
    _traits = replace(KernelPolicy._traits, holds_when="at every round")
    _priced = False
    """Whether prices stand in front of the learner's scores."""
    _drawn = False
    """Whether a lottery draws what is played."""

    def _set_up(self, learner: Any, promise: Promise, seed: Seed) -> None:
        self.promise = promise
        if isinstance(learner, KernelPolicy):
            require_fresh("learner", learner, "pass learner.fresh()")
        self._check_free(learner)
        own = learner.arms if isinstance(learner, (KernelPolicy, Adapter)) else None
        if own is not None and Labels(own).order(promise.arms) != [*range(len(own))]:
            hint = "name the same arms, in the same order"
            raise ArgumentError(expected("learner", Wording("one for the arms ", promise.arms), own, hint))
        ours = isinstance(learner, KernelPolicy)
        under = KernelProposer(learner) if ours else PythonProposer(learner, len(promise.arms))
        self._proposer: Proposer = under
        same = ("compiled", "contextual", "reward_range", "scored", "own_rows")
        self._traits = replace(self._traits, **{name: getattr(under, name) for name in same})
        self._traits, self._features = replace(self._traits, defers_refusals=self._must_hold()), under.features
        self._bind_kernels()
        super().__init__(promise.arms, seed)
        self.contexts.encoder = under.encoder

    @property
    def learner(self) -> Any:
        """The learner under the rule."""
        return self._proposer.learner

    @learner.setter
    def learner(self, learner: object) -> None:
        self._proposer.learner = learner

    @property
    def _answers(self) -> LearnerAnswers | None:
        """What a learner from elsewhere answered in the last round, None for one with kernels."""
        return self._proposer.answers

    def _check_free(self, learner: object) -> None:
        """Refuse a learner that keeps a promise of its own, which nobody could keep from here."""
        while learner is not None and not isinstance(learner, type):
            said = learner_facts(learner)
            if said.promise is not None or said.windows is not None:
                hint = f"pass its own learner to {type(self).__name__}, and all shares to one policy"
                what = "a learner without a promise of its own"
                raise ArgumentError(expected("learner", what, type(learner).__name__, hint))
            learner = said.learner

    def _must_hold(self) -> bool:
        """Return whether the learner's refused proposals are held."""
        return False

    @property
    def _may_come(self) -> Any:
        """The kernel that says whether an arm is on offer and below its cap."""
        return always

    def _around(self, learner: object) -> Any:
        """Return the state of the learner, with the proposal that is held where one may be."""
        return no_proposal(learner) if self._traits.defers_refusals else learner

    def _to_ranking(self) -> PythonCalls | None:
        """Go over to a rule that goes down rankings, in the middle of a round, and return what decides from then on;
        None for a rule that plays the first arm of any ranking, as it never overrules the learner."""
        return None

    def _bind_kernels(self) -> None:
        self._kernels = self._proposer.kernels(self._bound, self._traits.defers_refusals, self._drawn)

    def _bound(self, learner: Kernels) -> Kernels:
        """Return the kernels of the learner under the rule."""
        update = bind(update_learner, learner_update=learner.update)
        if isinstance(self._rule, RankingRule):
            rank = learner.rank or bind(rank_proposal, learner_choose=learner.choose)
            callees = {"learner_rank": rank, "select": self._rule.select}
            choose = bind(choose_ranked, **callees)
            if self._traits.plays == 1 and learner.rank is not None and learner.probability is deterministic:
                choose = bind(
                    choose_first, learner_choose=learner.choose, is_grantable=self._rule.is_grantable, **callees
                )
            return Kernels(
                choose, update, deterministic if learner.probability is deterministic else unknown_probability
            )
        return compose(learner, self._rule)

    def _quota_parameters(self, learner: object) -> Any:
        """Return the rule's parameters, `learner` last."""
        raise NotImplementedError

    def _quota_memory(self, learner: object) -> Any:
        """Return the rule's state before the first round, `learner` last."""
        raise NotImplementedError

    @cached_property
    def _sees_ticket(self) -> bool:
        """Whether the learner looks at the tickets of the rewards that it is told."""
        return self._proposer.sees_ticket

    @replaceable
    def shares(self) -> dict[Label, Fraction]:
        """The share of each arm, exactly as it was read."""
        return dict(zip(self.promise.arms, self.promise.shares, strict=True))

    @replaceable
    def tolerance(self) -> float:
        """By how many pulls an arm may be behind."""
        return self.promise.tolerance

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before trusting its numbers, in sentences."""
        return (BY_RULE,) if self._traits.contextual and self.promise.owes else ()

    @property
    @locked
    def pulls(self) -> dict[Label, int]:
        """How often each arm has been played so far."""
        return dict(zip(self.promise.arms, self.engine.state.pulls.tolist(), strict=True))

    def _decided(self) -> list[int]:
        return list(self.pulls.values())

    def change(self, shares: object) -> dict[Label, float]:
        """Refuse another promise, which only `DeadlineLearn` can begin.

        Raises
        ------
        ArgumentError
            Always.
        """
        raise self._fixed("change")

    def add(self, arm: Label, share: object = 0, *, cap: object = None) -> int:
        """Refuse a new arm, as `change` refuses another promise."""
        raise self._fixed("add")

    def retire(self, arm: Label) -> None:
        """Refuse to take an arm off offer, as `change` refuses another promise."""
        raise self._fixed("retire")

    def _fixed(self, what: str) -> ArgumentError:
        hint = "make a new policy, or use DeadlineLearn, whose shares can change"
        return ArgumentError(expected(what, "a policy whose promise can change", type(self).__name__, hint))

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        policy = super().restored(snapshot)
        if "learner" in snapshot:
            policy.learner = snapshot["learner"]
        return policy

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments, the learner as it was given."""
        config = super().config()
        return config | ({"learner": self._proposer.given} if "learner" in config else {})

    def _parameters(self) -> Any:
        """Return the rule's parameters and the learner's."""
        return self._quota_parameters(self._proposer.arrays[0])

    def _memory(self) -> Any:
        """Return the rule's state before the first round and the learner's."""
        return self._quota_memory(self._around(self._proposer.arrays[1]))

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return super().snapshot() | ({} if self._traits.compiled else {"learner": self.learner})

    def _start(self) -> None:
        self._proposer.begin(self.promise.arms, self.dimension or 0, child(self.seed, 1), self.contexts.encoder)
        super()._start()

    def _name_columns(self, columns: list[str] | None) -> None:
        super()._name_columns(columns)
        self._proposer.name_columns(columns)

    def _distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) of the decision just taken, None where none is known; where proposals are
        held, earlier refusals decide, which no probability describes."""
        return None if self._traits.defers_refusals else super()._distribution(why)

    def _chance_of(self, probability: float) -> Chance:
        return UNKNOWN if self._traits.defers_refusals else super()._chance_of(probability)

    def _extra_log_fields(self, remembered: tuple[Any, ...]) -> dict[str, Any]:
        """Return with which probability the learner proposed the arm of an open decision, 0 if it did not and None
        where nobody knows; {} where proposals are not held."""
        if not self._traits.defers_refusals:
            return super()._extra_log_fields(remembered)
        chance = remembered[2]
        return {"proposed": None if math.isnan(chance) else chance}

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[int, Any, Floats, float]:
        round, index, contexts, chance = super()._ticket_from_log(decided, shown)
        if self._traits.defers_refusals:
            chance = math.nan if decided["proposed"] is None else float(decided["proposed"])
        return round, index, contexts, chance

    def _connection(self) -> Callable[[], Calls] | None:
        return None if isinstance(self._proposer, KernelProposer) else self._python_calls

    def _python_calls(self) -> PythonCalls:
        """Return what asks and tells a learner from elsewhere."""
        assert isinstance(self._proposer, PythonProposer)
        plays, held = self._traits.plays, self._traits.defers_refusals
        asks = plays, self._drawn, held, self._priced, self._may_come, self._to_ranking
        return PythonCalls(self._proposer, self._rule, self.engine.params, self.engine.state, *asks)

    def _way_back(self) -> Callable[[], None]:
        """Do as without a learner from elsewhere, which is replaced by a copy of it as it is now.

        Raises
        ------
        ArgumentError
            If such a learner cannot be copied.
        """
        if self._traits.compiled:
            return super()._way_back()
        try:
            before = copy.deepcopy(self.learner)
        except Exception as error:
            hint, name = "give it a __deepcopy__, or tell each decision by itself", type(self.learner).__name__
            why = f"copy.deepcopy, as many rewards are learned or none, cannot copy its {name}: {error}"
            raise ArgumentError(f"learner: {why}; {hint}") from error
        others = super()._way_back()

        def go_back() -> None:
            others()
            self.learner = before

        return go_back
