"""What FairLearn, DeadlineLearn and their kin have in common: a promise, a learner, and the rule between them."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from evenhand.errors import ArgumentError, SharesError, Wording, wanted
from evenhand.kernels.arrays import Floats
from evenhand.kernels.compose import bind, entry, flat, interpreted, packers
from evenhand.labels import is_by_label, same_labels
from evenhand.learners.adapter import Adapter, asks_among, learner_facts, reward_range_of
from evenhand.parameters import require_fresh
from evenhand.policy.ask_tell import locked
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import FORCED, Kernels, deterministic, unknown_probability
from evenhand.promises.promise import Promise, read_promise
from evenhand.promises.reading import is_set
from evenhand.promises.versions import named_as
from evenhand.protocol import UNKNOWN, Chance, Label, arm_labels
from evenhand.quotas.foreign_learner import ask_learner, choose_down_ranking, proposals
from evenhand.quotas.pending_proposal import (
    CALLED_FROM_PYTHON,
    always,
    no_proposal,
    propose,
    resolve_proposal,
    restore_proposal,
)
from evenhand.quotas.quota_kernels import (
    NOT_KNOWN,
    PROPOSAL,
    NoLearner,
    QuotaRule,
    RankingRule,
    choose_first,
    choose_ranked,
    compose,
    explain_cause,
    must_play_alone,
    rank_proposal,
    resolve_alone,
    select_alone,
    update_learner,
)
from evenhand.rng import Seed, child

Shares = Sequence[Any] | Mapping[Label, Any]
Kept = Literal["at every round", "at the horizon", "in the long run"]
"""When a policy keeps its promise."""

SILENT = {"tolerance": 0.0, "plays": 1, "cap_tolerance": 0.0}
"""What arguments of a promise are that say nothing; the others are None."""
DEADLINE_LEARN = Wording("DeadlineLearn", shell="--policy deadline-learn")


def read_owed(learner: Any, shares: Any, said: Mapping[str, Any], arms: int | Sequence[Label] | None) -> Promise:
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
            mend = "put it into the promise"
            raise ArgumentError(wanted(name, "nothing together with a promise, which states it", value, mend))
    stated = shares if arms is None else named_as(shares, arm_labels(arms))
    if arms is not None and set(arm_labels(arms)) != set(stated.arms):
        raise ArgumentError(wanted("arms", Wording("the arms of the promise ", list(shares.arms)), arms))
    return stated


def promise_over(
    learner: Any, shares: Any, tolerance: Any, arms: int | Sequence[Label] | None, plays: int = 1
) -> Promise:
    """Do what `read_owed` does for policies that promise shares of single arms alone."""
    promise = read_owed(learner, shares, {"tolerance": tolerance, "plays": plays}, arms)
    if promise.sets or promise.windows or promise.caps or promise.plays != plays or promise.offers != "any":
        mend = Wording(DEADLINE_LEARN, " keeps every promise")
        raise SharesError(wanted("shares", "only shares of single arms", Wording(str(promise)), mend))
    return promise


class QuotaPolicy(KernelPolicy):
    """What FairLearn and its kin have in common: a `rule` around a learner.

    A subclass calls `_set_up` in its constructor and writes `quota_parameters(learner)` and `quota_memory(learner)`,
    which return the NamedTuples of its rule, the learner's own as their last field.
    """

    rule: QuotaRule | RankingRule
    kept: ClassVar[Kept] = "at every round"
    compiled: bool
    """Whether the learner has kernels, so that the whole policy runs compiled."""
    lottery: float | None = None
    """The floor of a lottery over what may be played, None where there is none."""
    _unheard_said = False
    """Whether a warning has said that the learner was not heard."""

    def _set_up(self, learner: Any, promise: Promise, seed: Seed) -> None:
        self.promise, self.learner, self._pristine = promise, learner, learner
        self.compiled = isinstance(learner, KernelPolicy)
        if isinstance(learner, KernelPolicy):
            require_fresh("learner", learner, "pass learner.fresh()")
        self._check_free(learner)
        said = learner_facts(learner)
        own = learner.arms if isinstance(learner, (KernelPolicy, Adapter)) else None
        if own is not None and not same_labels(own, promise.arms):
            mend = "name the same arms, in the same order"
            raise ArgumentError(wanted("learner", Wording("one for the arms ", promise.arms), own, mend))
        if isinstance(learner, KernelPolicy):
            self.learner = self._pristine = learner.fresh()
            self.contextual, self.reward_range = learner.contextual, learner.reward_range
            self.encoder = learner.encoder
            self.holds = self._must_hold(learner)
            self.kernels = self._bound(learner.kernels)
        elif isinstance(learner, type):
            raise ArgumentError(wanted("learner", "a learner, not its class", learner, f"write {learner.__name__}()"))
        elif callable(said.choose) and callable(said.update):
            self.kernels = NOT_KNOWN
            if said.known_arms is not None and said.known_arms != len(promise.arms):
                known = f"one for {said.known_arms}"
                raise ArgumentError(wanted("learner", f"one for {len(promise.arms)} arms", known))
            self._pristine = copy.deepcopy(learner)
            self.contextual = bool(said.contextual)
            self.features = learner.features if isinstance(learner, Adapter) else None
            self.holds = self._must_hold(learner)
            if self.holds:
                self.kernels = CALLED_FROM_PYTHON
            self.reward_range = reward_range_of(learner, self.reward_range)
        else:
            mend = "wrap it in evenhand.learners.Adapter"
            raise ArgumentError(wanted("learner", "an object with choose() and update(index, reward)", learner, mend))
        super().__init__(promise.arms, seed)

    def _check_free(self, learner: Any) -> None:
        """Refuse a learner that keeps a promise of its own, which nobody could keep from here."""
        while learner is not None and not isinstance(learner, type):
            said = learner_facts(learner)
            if said.promise is not None or said.windows is not None:
                mend = f"pass its own learner to {type(self).__name__}, and all shares to one policy"
                what = "a learner without a promise of its own"
                raise ArgumentError(wanted("learner", what, type(learner).__name__, mend))
            learner = said.learner

    def _must_hold(self, learner: Any) -> bool:
        """Return whether the learner's refused proposals are held."""
        return False

    @property
    def _may_come(self) -> Any:
        """The kernel that says whether an arm is on offer and below its cap."""
        return always

    def _around(self, learner: Any) -> Any:
        """Return the state of the learner, with the proposal that is held where one may be."""
        return no_proposal(learner) if self.holds else learner

    def _bound(self, learner: Kernels) -> Kernels:
        """Return the kernels of the learner under the rule."""
        update = bind(update_learner, learner_update=learner.update)
        if isinstance(self.rule, RankingRule):
            rank = learner.rank or bind(rank_proposal, learner_choose=learner.choose)
            callees = {"learner_rank": rank, "select": self.rule.select}
            choose = bind(choose_ranked, **callees)
            if self.plays == 1 and learner.rank is not None and learner.probability is deterministic:
                choose = bind(
                    choose_first, learner_choose=learner.choose, is_grantable=self.rule.is_grantable, **callees
                )
            return Kernels(
                choose, update, deterministic if learner.probability is deterministic else unknown_probability
            )
        return compose(learner, self.rule)

    def quota_parameters(self, learner: Any) -> Any:
        """Return the rule's parameters, `learner` last."""
        raise NotImplementedError

    def quota_memory(self, learner: Any) -> Any:
        """Return the rule's state before the first round, `learner` last."""
        raise NotImplementedError

    @cached_property
    def sees_ticket(self) -> bool:
        """Whether the learner looks at the tickets of the rewards that it is told."""
        return bool(getattr(self.learner, "sees_ticket", False))

    @property
    def shares(self) -> dict[Label, Fraction]:
        """The share of each arm, exactly as it was read."""
        return dict(zip(self.promise.arms, self.promise.shares, strict=True))

    @property
    def tolerance(self) -> float:
        """By how many pulls an arm may be behind."""
        return self.promise.tolerance

    @property
    @locked
    def pulls(self) -> dict[Label, int]:
        """How often each arm has been played so far."""
        return dict(zip(self.promise.arms, self._state.pulls.tolist(), strict=True))

    def _decided(self) -> list[int]:
        return list(self.pulls.values())

    def change(self, shares: Any) -> dict[Label, float]:
        """Refuse another promise, which only `DeadlineLearn` can begin.

        Raises
        ------
        ArgumentError
            Always.
        """
        raise self._fixed("change")

    def add(self, arm: Label, share: Any = 0) -> int:
        """Refuse a new arm, as `change` refuses another promise."""
        raise self._fixed("add")

    def retire(self, arm: Label) -> None:
        """Refuse to take an arm off offer, as `change` refuses another promise."""
        raise self._fixed("retire")

    def _fixed(self, what: str) -> ArgumentError:
        mend = "make a new policy, or use DeadlineLearn, whose shares can change"
        return ArgumentError(wanted(what, "a policy whose promise can change", type(self).__name__, mend))

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        policy = super().restored(snapshot)
        policy.learner = snapshot.get("learner", policy.learner)
        return policy

    def config(self) -> dict[str, Any]:
        """Return the constructor's arguments, the learner as it was given."""
        config = super().config()
        return config | ({"learner": self._pristine} if "learner" in config else {})

    def parameters(self) -> Any:
        """Return the rule's parameters and the learner's."""
        return self.quota_parameters(self.learner._params if self.compiled else NoLearner(np.zeros(0)))

    def memory(self) -> Any:
        """Return the rule's state before the first round and the learner's."""
        return self.quota_memory(self._around(self.learner._state if self.compiled else NoLearner(np.zeros(0))))

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return super().snapshot() | ({} if self.compiled else {"learner": self.learner})

    def _begin(self) -> None:
        if self.compiled:
            self.learner = self.learner.fresh(arms=self.arms, seed=child(self.seed, 1))
            self.learner.begin(self.dimension or 0)
            self.learner.encoder = self.encoder
        super()._begin()

    def _name_columns(self, columns: list[str] | None) -> None:
        super()._name_columns(columns)
        if self.compiled:
            self.learner._name_columns(columns)

    def distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) of the decision just taken, None where none is known; where proposals are
        held, earlier refusals decide, which no probability describes."""
        return None if self.holds else super().distribution(why)

    def _chance_of(self, probability: float) -> Chance:
        return UNKNOWN if self.holds else super()._chance_of(probability)

    def extra_log_fields(self, number: int) -> dict[str, Any]:
        """Return with which probability the learner proposed the arm of an open decision, 0 if it did not and None
        where nobody knows; {} where proposals are not held."""
        if not self.holds:
            return super().extra_log_fields(number)
        chance = self._open[number][2]
        return {"proposed": None if math.isnan(chance) else chance}

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        *kept, chance = super()._ticket_from_log(decided, shown)
        if self.holds:
            chance = math.nan if decided["proposed"] is None else float(decided["proposed"])
        return *kept, chance

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        if self.compiled:
            return KernelPolicy._choose(self, shown)
        if not self.holds:
            return self._choose_by(shown)
        held = self._state.learner
        if not bind(restore_proposal, may_come=self._may_come)(self._state, self.round):
            propose(held, proposals(self, shown)[0], PROPOSAL, math.nan)
        arm, why, _ = self._choose_by(shown)
        resolve_proposal(held, arm)
        return arm, why, self._probability(arm)

    def _choose_by(self, shown: Floats) -> tuple[int, int, float]:
        """Decide by what a learner from elsewhere proposes."""
        round, why = self.round + 1, FORCED
        ranks = isinstance(self.rule, RankingRule)
        proposal = -1 if ranks else int(self._ask_kernel(round, self._arrays))
        if proposal < 0:
            said = ask_learner(self, shown)
            if ranks or (len(said) > 1 and not asks_among(self.learner) and self._can_rank()):
                cause = choose_down_ranking(self, shown, said, round)
                self.round = round
                return int(self._state.chosen[0]), interpreted(explain_cause)(cause, PROPOSAL), math.nan
            proposal, why = said[0], PROPOSAL
        arm = int(self._tell_kernel(round, proposal, self._arrays))
        self.round = round
        return arm, why if arm == proposal else FORCED, math.nan

    def _can_rank(self) -> bool:
        """Return whether the rule now goes down rankings, where it had not until the learner gave one. A rule that
        never overrules the learner plays the first arm of any ranking."""
        return False

    def _update(self, shown: Floats, index: int, reward: float, ticket: tuple[int, float]) -> None:
        if self.compiled:
            KernelPolicy._update(self, shown, index, reward, ticket)
        elif not (self.holds and ticket[1] == 0.0):
            self.learner.update(*([shown] if self.contextual else []), index, reward)

    def _compile(self) -> None:
        if self.compiled:
            super()._compile()
            return
        names = dict(packers(self._params, self._state))
        names |= {name: kernel for name, kernel in self.rule._asdict().items() if name != "depends_on"}
        self._arrays = (*flat(self._params), *flat(self._state))
        self._ask_kernel = entry(select_alone if isinstance(self.rule, RankingRule) else must_play_alone, **names)
        self._tell_kernel = entry(resolve_alone, **names)
