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
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand.arguments import is_whole
from evenhand.arguments import whole as whole_number
from evenhand.data.encoding import Encoder, Transformer
from evenhand.display.html import Table
from evenhand.errors import NOTHING, ArgumentError, Wording, wanted
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import LazyKernel, flat, interpreted
from evenhand.labels import Labels
from evenhand.policy import saving, validation, warm_start
from evenhand.policy.all_or_none import all_or_none, tell_slate
from evenhand.policy.ask_tell import AskTell, locked
from evenhand.policy.compiled import NO_CONTEXTS, PLAIN_CALL, compile_policy, later, probabilities_of, twin_of
from evenhand.policy.kernel_set import (
    CODE_BITS,
    CODES,
    REASONS,
    Kernels,
    LazyProbabilities,
    deterministic,
    unknown_probability,
    without_ticket,
)
from evenhand.policy.traits import arms_table, traits_of
from evenhand.protocol import CERTAIN, UNKNOWN, Chance, Decision, Label, arm_labels, decided
from evenhand.rng import Seed, draw_seed, stream

if TYPE_CHECKING:
    import pandas as pd


class KernelPolicy(AskTell):
    """A policy over kernels that is also a learner: `ask` and `tell` with tickets, `choose` and `update` without.

    A subclass names its `kernels`, passes `arms` and `seed` on, keeps every constructor argument under its own name,
    and writes `parameters()` and `memory()`, which return the NamedTuples of the kernels for `len(self.arms)` arms and,
    where it is `contextual`, contexts of `self.dimension` numbers an arm, known from the first contexts on.
    """

    _tickets_live_in_log = True
    kernels: Kernels
    transient = ("_ask_kernel", "_tell_kernel", "_arrays", "_read")
    reward_range: tuple[float, float] = (0.0, 1.0)
    contextual: bool = False
    arms: tuple[Label, ...] | None
    dimension: int | None
    _counts: list[int]
    """How often each arm was decided for since the policy was made or loaded."""
    _arm_labels: Labels | None = None
    """The arms, the position of each label, and whether all are texts, once they were looked up."""
    _told = False
    """Whether it was told anything without a ticket."""
    _reversible = False
    """Whether what it is told now is taken back if something fails; see `all_or_none`."""
    features: Sequence[str] | None = None
    """The names of the contexts' columns in their order, where a learner from elsewhere says them."""
    encoder: Encoder | Transformer | None = None
    """What turns tables and dicts of contexts into numbers; `encode_with` sets it."""
    holds = False
    """Whether it is told 0 as the probability of a decision that its learner did not propose, and must not learn
    from."""
    round: int = later()
    _labels: tuple[Label, ...] = later()
    _params: Any = later()
    _state: Any = later()
    _waiting: Ints = later()
    _arrays: Any = later()
    _read: Any = later()
    """The arrays of the state that the probabilities follow from, by name."""
    _ask_kernel: Any = later()
    _tell_kernel: Any = later()

    def __init__(self, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        super().__init__()
        self.arms = None if arms is None else arm_labels(arms)
        self.seed = draw_seed(seed)
        self.dimension = None if self.contextual else 0
        self._columns: list[str] | None = None if self.features is None else list(self.features)
        if self.arms is not None and self.dimension is not None:
            self._begin()

    def parameters(self) -> Any:
        """Return the NamedTuple `params` of the kernels: numbers and arrays that never change."""
        raise NotImplementedError

    def memory(self) -> Any:
        """Return the NamedTuple `state` of the kernels before the first round: arrays alone."""
        raise NotImplementedError

    def call_work(self) -> int:
        """Return about how many array entries a call of the kernels touches beside those of its arguments."""
        return PLAIN_CALL

    def stream(self) -> Words:
        """Return the policy's random stream from its start, a field of `memory()` where the kernels draw."""
        return stream(self.seed)

    # ------------------------------------------------------------------ the conversation

    def ask(self, contexts: Any = None, *, available: Any = None) -> Decision:
        """Take the next decision and hand out its ticket.

        Parameters
        ----------
        contexts : for a contextual policy, one row of numbers per arm, as an array (n_arms, d) or a data frame; or one
            row that all arms share, as numbers (d,) or (1, d), a dict or a data frame of one row. With an encoder, see
            `encode_with`, tables and dicts may hold text.
        available : the labels of the arms that are on offer in this round, where not all are; order and repeats make no
            difference.

        Raises
        ------
        ArgumentError
            If no arm is available, one is unknown, or the policy needs every arm on offer.
        ContextError
            If `contexts` are missing, not wanted, of another shape, or not finite, or a data frame whose rows are not
            the arms or whose columns are not those of earlier rounds.
        """
        with self._lock:
            shown = self._read_contexts(contexts) if self.contextual or contexts is not None else NO_CONTEXTS
            if available is not None:
                self._set_round(validation.positions(self, available))
            # Before the choice: its kernel may change the very arrays that the probabilities follow from.
            chances_of = self.kernels.chances
            kept = None if chances_of is None else self._copy_inputs()
            probability: float | LazyProbabilities
            index, why, probability = self._choose(shown)
            distribution = self.distribution(why)
            number, self.tickets.next = self.tickets.next, self.tickets.next + 1
            label, slate = self._labels[index], None
            if chances_of is not None and kept is not None:
                given = (chances_of.of, self._params, self._state, shown, self.round, kept)
                probability = LazyProbabilities(given)
                chance = Chance(probability)
            elif distribution is not None:
                probability, chance = float(distribution[index]), Chance(distribution)
            else:
                chance = self._chance_of(probability)
            if self.plays == 1:
                self.tickets.open[number] = (self.round, label, index), shown, probability
                self._waiting[index] += 1
            else:
                indexes = self._slate()
                slate = tuple(self._labels[i] for i in indexes), indexes
                if chance is not CERTAIN:
                    chance = Chance(chance.probabilities, self._slate_chance())
                probability = math.nan if distribution is not None else probability
                self.tickets.open[number] = (self.round, label, index), shown, probability, indexes
                self._waiting[list(indexes)] += 1
            self._last = label if slate is None else slate[0], REASONS[why]
            reason, code = REASONS[why], CODES[why >> CODE_BITS]
            return decided(number, self.round, label, index, chance, reason, code, slate, self.tickets.token)

    @locked
    def probabilities(self, contexts: Any = None, *, available: Any = None) -> dict[Label, float]:
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
        return probabilities_of(self, contexts, available=available)

    def round_shown(self, contexts: Any = None, *, available: Any = None) -> Any:
        """Return what a round shows as the policy reads it, equal for two rounds that show the same. Nothing changes.

        Parameters
        ----------
        contexts, available : as for `ask`.

        Raises
        ------
        EvenhandError
            As `ask` does.
        """
        return validation.round_shown(self, contexts, available)

    def _twin(self) -> Self:
        """Return a policy in the same state that may be asked without a trace, and shares the machine code."""
        return twin_of(self)

    def _copy_inputs(self) -> dict[str, Any] | None:
        """Return copies of what the probabilities of the next decision follow from."""
        return {name: array.copy() for name, array in self._read}

    def distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) that the decision just taken was drawn from, None where none is known, or
        where it is computed when it is read."""
        if self.kernels.probability in (deterministic, unknown_probability):
            return None
        return np.array([self._probability(index) for index in range(len(self._labels))])

    def _chance_of(self, probability: float) -> Chance:
        """Return the chance of a decision of one arm whose ticket has this probability."""
        if self.kernels.probability is deterministic:
            return CERTAIN
        return UNKNOWN if math.isnan(probability) else Chance(propensity=probability)

    def tell(self, decision: Decision | int, reward: Any) -> None:
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
            number, ((round, _, index), shown, probability, *slate) = self.tickets.find(decision)
            if slate:
                tell_slate(self, slate[0], shown, reward, (round or 0, probability))
            else:
                reward = validation.checked_reward(reward, *self.reward_range)
                chance = probability if type(probability) is float else self._chance(probability, index)
                self._update(shown, index, reward, (round or 0, chance))
                self._waiting[index] -= 1
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
        told, paid = validation.told_rewards(self, decisions, rewards)
        with all_or_none(self):
            for decision, reward in zip(told, paid, strict=True):
                self.tell(decision, reward)

    @locked
    def learn(
        self,
        log: pd.DataFrame,
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
        warm_start.learn(self, log, arm, reward, contexts, probability)

    @property
    def context_columns(self) -> list[str] | None:
        """The names of the contexts' columns, in the policy's order; None with an encoder, or where none are known."""
        return self._columns if self.encoder is None else None

    @property
    def feature_names(self) -> list[str] | None:
        """The name (d,) of each number of a context: its column's, or the encoder's; None where none are known."""
        return self._columns if self.encoder is None else self.encoder.names

    @locked
    def encode_with(self, encoder: Any) -> Self:
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
        >>> from evenhand.learners import LinUCB
        >>> policy = LinUCB(arms=["tea", "coffee"]).encode_with(Encoder({"day": ["week", "Sunday"]}))
        >>> policy.ask({"day": "Sunday"}).arm
        'tea'
        """
        self.encoder = validation.checked_encoder(self, encoder)
        return self

    @locked
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket whose reward will never come; the decision itself still counts as taken."""
        number, ((_, _, index), _, _, *slate) = self.tickets.find(decision)
        self._waiting[list(slate[0]) if slate else index] -= 1
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
        first = self.round - whole_number("rounds", rounds, low=0)
        old = [number for number, ((round, *_), *_) in self.tickets.open.items() if (round or first) < first]
        for number in old:
            self.forget(number)
        return old

    @locked
    def choose(self, contexts: Any = None) -> int:
        """Take the next decision without a ticket and return the arm's index, the best one's if several are played."""
        return self._choose(self._read_contexts(contexts))[0]

    @locked
    def update(self, *contexts_index_reward: Any) -> None:
        """Learn from `(index, reward)`, or `(contexts, index, reward)` for a contextual policy, without a ticket."""
        *contexts, index, reward = contexts_index_reward
        shown = self._read_contexts(*contexts)
        if not is_whole(index) or not 0 <= index < len(self._labels):
            raise ArgumentError(wanted("index", f"an arm's index below {len(self._labels)}", index))
        reward = validation.checked_reward(reward, *self.reward_range)
        self._told = True
        self._update(shown, int(index), reward, (self.round, self._probability(int(index))))

    @property
    @locked
    def has_history(self) -> bool:
        """Whether it has decided or learned anything since it was made, by tickets or without."""
        return self._begun and (bool(self.round) or self._told or warm_start.has_learned(self))

    # ------------------------------------------------------------------ notebooks

    def _facts(self) -> dict[str, Any]:
        traits = traits_of(self)
        owed = {} if traits.kept is None else {"promise": f"kept {traits.kept}"}
        inside = {} if traits.learner is None else {"learner": traits.learner}
        return {**inside, **owed, "rounds": self.round if self._begun else 0}

    def _tables(self) -> list[Table]:
        known = (self._decided(), self._waiting, self.round) if self._begun else ()
        return [arms_table(traits_of(self), *known)]

    def _decided(self) -> Sequence[int]:
        """Return how often each arm was decided for, as far as is known."""
        return self._counts

    # ------------------------------------------------------------------ copies and files

    def fresh(self, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> Self:
        """Return a policy of the same configuration without memory; `arms` names its arms where it has none yet."""
        config = {name: copy.deepcopy(value) for name, value in self.config().items()}
        if "arms" in config and self.arms is None:
            config["arms"] = arms
        config["seed"] = self.seed if seed is None else seed
        made = type(self)(**config)
        made.encoder = self.encoder
        return made

    def grown(self, arms: Sequence[Label]) -> Self:
        """Return a copy with more arms after those that it has, which keeps what it has learned.

        Raises
        ------
        ArgumentError
            If the policy cannot be made from its settings and the arms alone.
        """
        config = {name: copy.deepcopy(value) for name, value in self.config().items()} | {"arms": tuple(arms)}
        try:
            more = type(self)(**config)
        except (TypeError, ArgumentError) as error:
            what = f"one that {type(self).__name__} knows"
            raise ArgumentError(wanted("arm", what, Wording("a new one"), "make a new policy")) from error
        more.begin(self.dimension or 0)
        more.round = self.round
        for mine, theirs in zip(flat(more._state), flat(self._state), strict=True):
            mine[tuple(map(slice, theirs.shape))] = theirs
        return more

    @locked
    def begin(self, dimension: int) -> None:
        """Prepare for contexts (n_arms, dimension); the first contexts that are shown do so automatically."""
        if not self._begun:
            self.dimension = dimension
            self._begin()

    @locked
    def compile(self) -> None:
        """Compile the kernels now; otherwise they run as plain Python until it pays to compile them."""
        for half in (self._ask_kernel, self._tell_kernel):
            if isinstance(half, LazyKernel):
                half.compile()

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        return saving.snapshot_of(self)

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        policy = cls(**snapshot["config"])
        saving.restore(policy, snapshot)
        return policy

    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]:
        return saving.kept_ticket(remembered)

    def _ticket_from_saved(self, round: int, index: Any, shown: Floats, probability: float) -> tuple[Any, ...]:
        return saving.remembered_ticket(self, round, index, shown, probability)

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        contexts = self._read_contexts(shown.get("contexts")) if self.contextual else NO_CONTEXTS
        return saving.logged_ticket(self, decided, contexts)

    @cached_property
    def sees_ticket(self) -> bool:
        """Whether what learns from a reward looks at its ticket."""
        origin = self.kernels.update._origin
        return origin is None or origin[0] is not without_ticket

    def _chance(self, probability: LazyProbabilities, index: int) -> float:
        """Return the probability of a decision, nan where nothing looks at it, which saves computing it."""
        return float(probability()[index]) if self.sees_ticket else math.nan

    # ------------------------------------------------------------------ inside

    def _set_round(self, available: list[int]) -> None:
        """Have the next decision taken among these arms alone."""
        what = Wording(NOTHING, f": {type(self).__name__} assumes that every arm is on offer")
        offered = [self._labels[arm] for arm in available]
        raise ArgumentError(wanted("available", what, offered, "DeadlineLearn supports it"))

    def forget_machine_code(self) -> None:
        """Have the kernels bound anew at the next decision, as their arrays are others now."""
        for name in self.transient:
            self.__dict__.pop(name, None)

    def _restore_variant(self, snapshot: dict[str, Any]) -> None:
        """Take the form that the state of a snapshot has, where there are several."""

    def _slate(self) -> tuple[int, ...]:
        """Return the positions of the arms of the last round, where several are played."""
        return tuple(arm for arm in self._state.chosen.tolist() if arm >= 0)

    def _slate_chance(self) -> float | None:
        """Return the probability of the slate of the last round, where it was drawn with a known one."""
        return None

    @property
    def _begun(self) -> bool:
        return "_state" in self.__dict__

    def _begin(self) -> None:
        assert self.arms is not None
        self.round = 0
        self._labels = self.arms
        self._params, self._state = self.parameters(), self.memory()
        self._waiting = np.zeros(len(self.arms), dtype=np.int64)
        self._counts = [0] * len(self.arms)

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        picked: tuple[int, int, float] = self._ask_kernel(self.round + 1, shown, self._waiting, self._arrays)
        self.round += 1
        if self.plays == 1:
            self._counts[picked[0]] += 1
        else:
            for index in self._slate():
                self._counts[index] += 1
        return picked

    def _update(self, shown: Floats, index: int, reward: float, ticket: tuple[int, float]) -> None:
        round, chance = ticket
        self._tell_kernel(index, reward, round, chance, shown, self._arrays)

    def _probability(self, index: int) -> float:
        """Return the probability with which the last decision could have picked an arm."""
        return float(interpreted(self.kernels.probability)(self._params, self._state, index))

    def _compile(self) -> None:
        compile_policy(self)

    def _read_contexts(self, contexts: Any = None) -> Floats:
        return validation.checked_contexts(self, contexts)

    def _name_columns(self, columns: list[str] | None) -> None:
        self._columns = columns

    @property
    def _numbers(self) -> int | None:
        """How many numbers describe an arm, None where nothing says so yet."""
        return self.dimension if self.dimension is not None or self.features is None else len(self.features)
