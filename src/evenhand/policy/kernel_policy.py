"""The ask/tell object over kernels: tickets, validation, and the mapping of a policy's numbers to the user's labels.

The author of a policy writes two kernels and a class of a few lines:

    choose(params, state, contexts, round, waiting) -> (index, reason)
    update(params, state, contexts, index, reward, ticket)

`params` is a NamedTuple that never changes, `state` a NamedTuple of arrays that the kernels change in place; the last
field of either may be the NamedTuple of an inner learner. `contexts` is what the round shows, an array (n_arms, d),
empty where rounds show nothing; `waiting` (n_arms,) counts the tickets of each arm that are still open; `ticket` says
when the arm was decided and with which probability, for rewards that come late, and may be left out by a rule that does
not look at it. The compiled simulation loop calls the same two kernels, so what is simulated is what is deployed.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np

from evenhand.arguments import is_whole, whole
from evenhand.display.html import Table
from evenhand.errors import NOTHING, ArgumentError, Wording, expected
from evenhand.frames import Frame, as_pandas
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.labels import Labels
from evenhand.parameters import Parameters, locked
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.context_reader import ContextReader
from evenhand.policy.engine import NO_CONTEXTS, PLAIN_CALL, Calls, Engine, refuse_unready
from evenhand.policy.given import checked_reward, paired, positions, rewards_of, scores_as_shown
from evenhand.policy.kernel_set import Kernels, LazyProbabilities, deterministic, reason_of, unknown_probability
from evenhand.policy.log_rows import rows_of
from evenhand.policy.open_decision import OpenDecision
from evenhand.policy.traits import Traits, arms_table, facts, traits_of
from evenhand.protocol import CERTAIN, UNKNOWN, Chance, Decision, Label, arm_labels, decided
from evenhand.rng import Seed, draw_seed, stream


class KernelPolicy(AskTell, Parameters):
    """A policy over kernels that is also a learner: `ask` and `tell` with tickets, `choose` and `update` without.

    A subclass names its `_kernels`, passes `arms` and `seed` on, keeps every constructor argument under its own name,
    and writes `_parameters()` and `_memory()`, which return the NamedTuples of the kernels for `len(self.arms)` arms
    and, where its traits say `contextual`, contexts of `self.dimension` numbers an arm, known from the first ones on.
    """

    _kernels: Kernels
    _traits: Traits = Traits(contextual=False, reward_range=(0.0, 1.0))
    arms: tuple[Label, ...] | None
    _features: Sequence[str] | None = None
    """The names of the contexts' columns in their order, where a learner from elsewhere says them."""
    _engine: Engine | None = None
    """Its numbers, once it knows its arms and its contexts' dimension."""
    _told = False
    """Whether it was told anything without a ticket."""
    _tickets_live_in_log = True
    _arm_labels = Labels()
    """The arms, and the position of each label, once they were looked up."""

    def __init__(self, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        super().__init__()
        self.arms = None if arms is None else arm_labels(arms)
        self.seed = draw_seed(seed)
        self._rewards = self._traits.reward_range or (-math.inf, math.inf)
        self.contexts = ContextReader(self._traits, self._features)
        if self.arms is not None and self.dimension is not None:
            self._start()

    def _parameters(self) -> Any:
        """Return the NamedTuple `params` of the kernels: numbers and arrays that never change."""
        raise NotImplementedError

    def _memory(self) -> Any:
        """Return the NamedTuple `state` of the kernels before the first round: arrays alone."""
        raise NotImplementedError

    def _stream(self) -> Words:
        """Return the policy's random stream from its start, a field of `_memory()` where the kernels draw."""
        return stream(self.seed)

    @property
    def engine(self) -> Engine:
        """Its numbers: kernels, their parameters and state, and how often each arm was decided for.

        Raises
        ------
        ArgumentError
            If the policy does not know its arms, or its contexts' dimension, yet.
        """
        return self._engine or refuse_unready(type(self).__name__, self.arms)

    @property
    def _labels(self) -> tuple[Label, ...]:
        """The arms, where they are known."""
        return self.arms or refuse_unready(type(self).__name__, None)

    @property
    def round(self) -> int:
        """How many rounds it has decided."""
        return 0 if self._engine is None else self._engine.round

    @property
    def dimension(self) -> int | None:
        """How many numbers describe an arm: 0 for a policy that sees no contexts, None before the first ones."""
        return self.contexts.dimension

    def _become(self, state: dict[str, Any]) -> None:
        super()._become(state)
        if self._engine is not None:
            self._engine.connect = self._connection()

    # ------------------------------------------------------------------ the conversation

    def ask(self, contexts: Any = None, *, available: Any = None, scores: object = None) -> Decision:
        """Take the next decision and hand out its ticket.

        Parameters
        ----------
        contexts : for a contextual policy, one row of numbers per arm, as an array (n_arms, d) or a data frame; or one
            row that all arms share, as numbers (d,) or (1, d), a dict or a data frame of one row, where the policy
            learns each arm separately. With an encoder, see `encode_with`, tables and dicts may hold text.
        available : the labels of the arms that are on offer in this round, where not all are; order and repeats make no
            difference.
        scores : for `Scores`, alone or as the learner of a policy, in the place of contexts and offer: a dict arm ->
            score of the arms on offer; of equal scores the first leads.

        Raises
        ------
        ArgumentError
            If no arm is available, one is unknown, or the policy needs every arm on offer; if scores are missing
            or not wanted, or one is no finite number or outside the range that `Scores` declares.
        ContextError
            If `contexts` are missing, not wanted, of another shape, or not finite, or a data frame whose rows are not
            the arms or whose columns are not those of earlier rounds.
        """
        with self._lock:
            contexts, available = scores_as_shown(self, scores, contexts, available)
            shown = self._read_contexts(contexts) if self._traits.contextual or contexts is not None else NO_CONTEXTS
            engine = self._engine or self.engine
            before = None if available is None else self._offer(self._positions(available))
            try:
                # Before the choice: its kernel may change the very arrays that the probabilities follow from.
                kept = self._inputs()
                index, why, chance = self._choose(shown)
                return self._hand_out(engine, shown, index, why, chance, kept)
            finally:
                if before is not None:
                    engine.state.offered[:] = before

    def _hand_out(
        self, engine: Engine, shown: Floats, index: int, why: int, drawn: float, kept: dict[str, Any] | None
    ) -> Decision:
        """Return the decision that was just taken, and remember its ticket.

        Parameters
        ----------
        index, why, drawn : what the kernels said: the arm, the reason, and the probability of the arm.
        kept : what the probabilities of all arms follow from, where they are computed when they are read.
        """
        probability: float | LazyProbabilities = drawn
        distribution = self._distribution(why)
        if kept is not None:
            chance = Chance(probability := engine.lazy_probabilities(shown, kept))
        elif distribution is not None:
            probability, chance = float(distribution[index]), Chance(distribution)
        else:
            chance = self._chance_of(drawn)
        label, round = self._labels[index], engine.round
        indexes = None if engine.plays == 1 else engine.slate()
        if indexes is not None:
            if chance is not CERTAIN:
                chance = Chance(chance.probabilities, self._slate_chance())
            probability = math.nan if distribution is not None else probability
        number = self.tickets.hand_out(OpenDecision((round, label, index), shown, probability, indexes))
        engine.waiting[index if indexes is None else list(indexes)] += 1
        slate = None if indexes is None else (tuple(self._labels[i] for i in indexes), indexes)
        reason, code = reason_of(why)
        self._last = label if slate is None else slate[0], reason
        return decided(number, round, label, index, chance, reason, code, slate, self.tickets.token)

    @locked
    def probabilities(self, contexts: object = None, *, available: object = None) -> dict[Label, float]:
        """Return the probability of each arm at the next `ask`, without asking: given all that happened so far, these
        contexts, and what is on offer. Nothing changes.

        A policy that draws nothing gives 1.0 to the arm that it would play, or to each of several.

        Parameters
        ----------
        contexts, available : as for `ask`.

        Raises
        ------
        ArgumentError
            If the policy draws by chance, or a learner from elsewhere in it may, and does not say with which
            probabilities; or as `ask` does.
        ContextError
            As `ask` does.

        Examples
        --------
        >>> import pandas as pd
        >>> from evenhand.learners import EpsilonGreedy
        >>> policy = EpsilonGreedy(0.2, arms=["a", "b"])
        >>> policy.learn(pd.DataFrame({"arm": ["a", "b"], "reward": [0.0, 1.0]}))
        >>> policy.probabilities()
        {'a': 0.1, 'b': 0.9}
        """
        if self._traits.compiled:
            decision = self._twin().ask(contexts, available=available)
            if (chances := decision.probabilities) is not None:
                return dict(zip(self.arms or (), chances.tolist(), strict=True))
            if decision.propensity is not None:
                return {arm: float(arm in decision.arms) for arm in self.arms or ()}
        hint = "DeadlineLearn over Thompson or EpsilonGreedy does"
        if self._traits.defers_refusals:
            hint = "its learner's proposal is held until it is granted; lottery= draws with known probabilities"
        what = "one that states the probabilities of its draws"
        raise ArgumentError(expected("policy", what, type(self).__name__, hint))

    def _round_shown(self, contexts: object = None, *, available: object = None) -> Any:
        """Return what a round shows as the policy reads it, equal for two rounds that show the same. Nothing changes.

        Parameters
        ----------
        contexts, available : as for `ask`.

        Raises
        ------
        EvenhandError
            As `ask` does.
        """
        shown = None if contexts is None else self.contexts.read(contexts, self.arms or ())[0].tolist()
        return shown, set(self._on_offer() if available is None else self._positions(available))

    def _twin(self) -> Self:
        """Return a policy in the same state that may be asked without a trace, and shares the machine code."""
        clone = object.__new__(type(self))
        vars(clone).update(vars(self))
        clone.tickets, clone.contexts = self.tickets.copy_for(clone, {}), copy.copy(self.contexts)
        clone._engine = None if self._engine is None else self._engine.copy()
        return clone

    def _inputs(self) -> dict[str, Any] | None:
        """Return copies of what the probabilities of the next decision follow from, None where none are computed."""
        return self.engine.inputs()

    def _distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) that the decision just taken was drawn from, None where none is known, or
        where it is computed when it is read."""
        if self._kernels.probability in (deterministic, unknown_probability):
            return None
        return np.array([self.engine.probability(index) for index in range(len(self._labels))])

    def _chance_of(self, probability: float) -> Chance:
        """Return the chance of a decision of one arm whose ticket has this probability."""
        if self._kernels.probability is deterministic:
            return CERTAIN
        return UNKNOWN if math.isnan(probability) else Chance(propensity=probability)

    def tell(self, decision: Decision | int, reward: object) -> None:
        """Record the reward of a ticket, given as the decision or its id; it may come late and out of order.

        Where several arms were played, `reward` is a list in the order of `decision.arms`, or a dict arm -> reward.

        Raises
        ------
        RewardError
            If the reward is not a finite number in the policy's range.
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If the ticket was never handed out, was told or forgotten before, or is another policy's.
        """
        with self._lock:
            number, remembered = self.tickets.find(decision)
            said, shown, probability, slate = remembered
            engine = self._engine or self.engine
            if slate is None:
                reward = checked_reward(reward, *self._rewards)
                # Where nothing looks at it, it is not computed.
                chance = remembered.chance_of(said[2]) if type(probability) is float or self._sees_ticket else math.nan
                engine.tell(shown, said[2], reward, said[0] or 0, chance)
                engine.waiting[said[2]] -= 1
            else:
                paid = rewards_of(remembered, self._labels, reward, self._rewards)
                with nullcontext() if self._traits.compiled else self._all_or_none():  # a kernel does not fail half-way
                    for index, one in paid:
                        engine.tell(shown, index, one, said[0] or 0, probability)
                        engine.waiting[index] -= 1
            del self.tickets.open[number]

    @locked
    def tell_all(self, decisions: Sequence[Decision | int], rewards: Sequence[Any]) -> None:
        """Record the rewards of many tickets in their order: of all of them, or of none where one is refused or the
        learner fails. A Series of rewards by ticket number is matched by it.

        Where a learner of your own raises, the policy goes on with a copy of it as it was before the call.

        Raises
        ------
        ArgumentError
            If there are not as many rewards as decisions, they carry different row labels, a ticket is given twice, or
            a learner of your own cannot be copied.
        RewardError, UnknownTicketError, ClosedTicketError, ForeignTicketError
            As `tell` does.
        """
        told, paid = paired(decisions, rewards, self.tickets.find)
        for one, reward in zip(told, paid, strict=True):
            rewards_of(self.tickets.find(one)[1], self._labels, reward, self._rewards)
        with self._all_or_none():
            for decision, reward in zip(told, paid, strict=True):
                self.tell(decision, reward)

    def _way_back(self) -> Callable[[], None]:
        """Return what takes back all that it is told from now on."""
        numbers, tickets = self.engine.way_back(), dict(self.tickets.open)

        def go_back() -> None:
            numbers()
            self.tickets.open = tickets

        return go_back

    @locked
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket whose reward will never come; the decision itself still counts as taken."""
        number, remembered = self.tickets.find(decision)
        self.engine.waiting[remembered.indexes] -= 1
        del self.tickets.open[number]

    @locked
    def forget_older(self, rounds: int) -> list[int]:
        """Close the tickets of decisions taken more than `rounds` rounds ago, whose rewards will not come any more.

        Returns
        -------
        list of int
            The numbers of the tickets that were closed; the decisions still count as taken.

        Raises
        ------
        ArgumentError
            If `rounds` is not a whole number >= 0.
        """
        first = self.round - whole("rounds", rounds, low=0)
        old = [number for number, (said, *_) in self.tickets.open.items() if (said[0] or first) < first]
        for number in old:
            self.forget(number)
        return old

    # ------------------------------------------------------------------ learning

    @locked
    def choose(self, contexts: object = None) -> int:
        """Take the next decision without a ticket and return the arm's index, the best one's if several are played."""
        return self._choose(self._read_contexts(contexts))[0]

    @locked
    def update(self, *contexts_index_reward: object) -> None:
        """Learn from `(index, reward)`, or `(contexts, index, reward)` for a contextual policy, without a ticket."""
        *contexts, index, reward = contexts_index_reward
        shown = self._read_contexts(*contexts)
        if not is_whole(index) or not 0 <= index < len(self._labels):
            raise ArgumentError(expected("index", f"an arm's index below {len(self._labels)}", index))
        reward, engine = checked_reward(reward, *self._rewards), self.engine
        self._told = True
        engine.tell(shown, int(index), reward, engine.round, engine.probability(int(index)))

    @property
    @locked
    def _has_history(self) -> bool:
        """Whether it has decided or learned anything since it was made, by tickets or without."""
        if self._engine is None:
            return False
        pristine = self.fresh()
        pristine._begin(self.dimension or 0)
        return bool(self.round) or self._told or self._engine.differs(pristine.engine)

    @locked
    def learn(
        self,
        log: Frame,
        *,
        arm: str = "arm",
        reward: str = "reward",
        contexts: Sequence[str] | None = None,
        probability: str | None = None,
    ) -> None:
        """Learn from a log of decisions that others took: a warm start, without tickets.

        Only what is known about rewards changes. The rows are neither rounds nor decisions of this policy: a promise
        counts none of them. All rows are learned, in their order, or none where one is refused or the learner fails.

        Parameters
        ----------
        log : one row per decision.
        arm, reward : names of its columns.
        contexts : for a contextual policy, the d columns with the context of the arm that was played.
        probability : the column with the probability of each decision, which `TsallisINF` weighs rewards by; None for
            evenly random decisions.

        Raises
        ------
        TableError
            If a column is missing, an arm is unknown, a reward is not a number in the policy's range, or a probability
            or context is invalid; the message names row and column.
        ContextError
            If `contexts` are missing or not wanted.

        Examples
        --------
        >>> import pandas as pd
        >>> from evenhand.learners import UCB1
        >>> policy = UCB1(arms=["a", "b"])
        >>> policy.learn(pd.DataFrame({"arm": ["a", "b", "b"], "reward": [0.0, 1.0, 1.0]}))
        >>> policy.ask().arm
        'b'
        """
        frame = as_pandas(log)
        columns, seen = self.contexts.read_log(frame, contexts)
        rows = rows_of(frame, self._labels, seen, arm, reward, probability, self._rewards)
        if self._traits.contextual:
            self._begin(seen.shape[1])
            self._name_columns(self.contexts.columns or columns)
        with self._all_or_none():
            for index, paid, chance, shown in rows:
                self.engine.tell(shown, index, paid, self.round, chance)
        self._told = True

    def _all_or_none(self) -> AbstractContextManager[None]:
        """Take back whatever it is told in a block that fails, as where a learner from elsewhere raises."""
        return nullcontext() if self._engine is None else self._engine.all_or_none(self._way_back)

    @locked
    def encode_with(self, encoder: object) -> Self:
        """Have data frames and dicts of contexts turned into numbers, and return the policy itself.

        The encoder is saved with the policy. Arrays and lists are taken as numbers that are encoded already.

        Parameters
        ----------
        encoder : an `eh.Encoder`, or a fitted transformer of scikit-learn, such as a `ColumnTransformer`.

        Raises
        ------
        ArgumentError
            If it is neither, or the policy sees no contexts or has seen some already.

        Examples
        --------
        >>> from evenhand import Encoder
        >>> from evenhand.groups import TopInterval
        >>> policy = TopInterval({"ann": "F", "bob": "M"}, seed=1).encode_with(Encoder({"day": ["week", "Sunday"]}))
        >>> policy.ask({"day": "Sunday"}).arm
        'ann'
        """
        self.contexts.encode_with(encoder, type(self).__name__)
        return self

    @property
    def _sees_ticket(self) -> bool:
        """Whether what learns from a reward looks at its ticket."""
        return self._kernels.sees_ticket

    # ------------------------------------------------------------------ notebooks

    def _facts(self) -> dict[str, Any]:
        return {**facts(traits_of(self)), "rounds": self.round}

    def _tables(self) -> list[Table]:
        known = () if self._engine is None else (self._decided(), self._engine.waiting, self.round)
        return [arms_table(traits_of(self), *known)]

    def _decided(self) -> Sequence[int]:
        """Return how often each arm was decided for, as far as is known."""
        return self.engine.counts

    # ------------------------------------------------------------------ copies and files

    def fresh(self, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> Self:
        """Return a policy of the same configuration without memory; `arms` names its arms where it has none yet."""
        named = {"arms": arms} if self.arms is None and "arms" in self.config() else {}
        made = self._made_again(**named, seed=self.seed if seed is None else seed)
        made.contexts.encoder = self.contexts.encoder
        return made

    @locked
    def _begin(self, dimension: int) -> None:
        """Prepare for contexts (n_arms, dimension); the first contexts that are shown do so automatically."""
        if self._engine is None:
            self.contexts.dimension = dimension
            self._start()

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        body: dict[str, Any] = {"config": self.config(), "dimension": None}
        if self._engine is not None:
            body |= {"dimension": self.dimension, "tickets": self.tickets.snapshot(), "columns": self.contexts.columns}
            body |= self._engine.save()
        if self.contexts.encoder is not None:
            body["encoder"] = self.contexts.encoder
        return body

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        policy = cls(**snapshot["config"])
        policy.contexts.encoder = snapshot.get("encoder")
        if snapshot["dimension"] is not None:
            policy._begin(snapshot["dimension"])
            # Before the arrays: a rule that changed its form has other fields, and arrays of other shapes are refused.
            policy._restore_variant(snapshot)
            policy.engine.restore(snapshot)
            policy._name_columns(snapshot["columns"])
            policy.tickets.restore_all(snapshot["tickets"])
        return policy

    def _ticket_to_saved(self, remembered: OpenDecision) -> tuple[int, Any, Floats, float]:
        return remembered.saved()

    def _ticket_from_saved(self, *kept: Any) -> OpenDecision:
        return OpenDecision.restored(self._labels, self._traits.plays > 1, kept)

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[int, Any, Floats, float]:
        contexts = self._read_contexts(shown.get("contexts"), earlier=True) if self._traits.contextual else NO_CONTEXTS
        certain = self._kernels.probability is deterministic
        return OpenDecision.logged(decided, contexts, certain, self._traits.plays > 1)

    # ------------------------------------------------------------------ inside

    def _on_offer(self) -> list[int]:
        """Return the positions of the arms that are on offer where nothing else is said."""
        return list(range(len(self.arms or ())))

    def _positions(self, available: object) -> list[int]:
        """Return the positions of the arms that are on offer."""
        if self._arm_labels.names is not self.arms:
            self._arm_labels = Labels(self.arms or ())
        return positions(available, self._arm_labels)

    def _offer(self, available: list[int]) -> Ints:
        """Have decisions taken among these arms alone; return which were on offer before."""
        what = Wording(NOTHING, f": {type(self).__name__} assumes that every arm is on offer")
        offered = [self._labels[arm] for arm in available]
        raise ArgumentError(expected("available", what, offered, "DeadlineLearn supports it"))

    def _restore_variant(self, snapshot: dict[str, Any]) -> None:
        """Take the form that the state of a snapshot has, where there are several."""

    def _slate_chance(self) -> float | None:
        """Return the probability of the slate of the last round, where it was drawn with a known one."""
        return None

    def _start(self) -> None:
        params, state = self._parameters(), self._memory()
        sizes = len(self._labels), self._traits.plays, self._call_work(params)
        self._engine = Engine(self._kernels, params, state, *sizes, self._connection())

    def _call_work(self, params: object) -> int:
        """Return about how many array entries a call of the kernels touches beside those of its arguments."""
        return PLAIN_CALL

    def _connection(self) -> Callable[[], Calls] | None:
        """Return what makes the calls that take the place of the kernels; None where they stand for themselves."""
        return None

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        """Return the arm of the next round, why it is that, and with which probability it was picked."""
        return (self._engine or self.engine).ask(shown)

    def _read_contexts(self, contexts: object = None, *, earlier: bool = False) -> Floats:
        """Return the contexts (n_arms, d) of a round, or of an earlier one, perhaps with fewer arms; the first ones
        make the policy ready for their dimension."""
        shown, columns = self.contexts.read(contexts, self.arms or (), earlier=earlier)
        if self.dimension is None:
            self._begin(shown.shape[1])
        if columns is not self.contexts.columns:
            self._name_columns(columns)
        return shown

    def _name_columns(self, columns: list[str] | None) -> None:
        self.contexts.columns = columns
