"""The ask/tell object over kernels: tickets, validation, and the marriage of a policy's numbers with the user's labels.

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
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from evenhand.arguments import as_float, is_whole
from evenhand.arguments import whole as whole_number
from evenhand.data.contexts import LARGEST, feature_columns, read_shown
from evenhand.data.encoding import Encoder, Transformer, as_encoder
from evenhand.data.rows import in_step
from evenhand.display.html import Table
from evenhand.errors import ArgumentError, ContextError, RewardError, wanted
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats, Ints, Words
from evenhand.kernels.compose import OPEN, Gradual, entry, flat, interpreted, kernel, names, packer
from evenhand.labels import by_label, listed
from evenhand.policy.conversation import COPIED, Conversation, locked
from evenhand.policy.kernel_set import (
    CODE_BITS,
    CODES,
    REASONS,
    WAITING,
    Deferred,
    Kernels,
    Ticket,
    certain,
    copied,
    unknown,
    without_ticket,
)
from evenhand.policy.traits import arms_table, traits_of
from evenhand.policy.warm_start import columns_of, rows_of
from evenhand.protocol import Decision, Label, arm_labels, find_label, label_of, places, writing
from evenhand.rng import Seed, draw_seed, stream
from evenhand.saving.saved import fill

if TYPE_CHECKING:
    import pandas as pd

NO_CONTEXTS: Floats = np.zeros((0, 0))
NO_LABELS = {bool, np.bool_}
"""Types of what says which arms are on offer by their order, and names none."""
PLAIN_WORK, PLAIN_CALL = 1_000_000, 100
"""A policy's kernels are compiled when they have touched so many array entries as plain Python, a fraction of a second;
a call counts as so many by itself."""


class _Later:
    """An attribute that a policy has once it knows its arms and its contexts' dimension, or needs its kernels."""

    def __set_name__(self, owner: Any, name: str) -> None:
        self.name = name

    def __get__(self, policy: Any, owner: Any) -> Any:
        if policy is None:
            return self
        if policy._begun and self.name in policy.transient:
            policy._compile()
            return policy.__dict__[self.name]
        lacks = "arms yet; give it arms=10 or arms=[labels], or pass it to FairLearn or simulate"
        if policy.arms is not None:
            first = "ask(contexts) first, or call begin(dimension)"
            lacks = f"contexts' dimension yet; {first}; if a study decides, read study.policy: {COPIED}"
        raise ArgumentError(f"{type(policy).__name__} does not know its {lacks}")


def _later() -> Any:
    return _Later()


class KernelPolicy(Conversation):
    """A policy over kernels, that is a learner as well: `ask` and `tell` with tickets, `choose` and `update` without.

    A subclass names its `kernels`, passes `arms` and `seed` on, keeps every constructor argument under its own name,
    and writes `parameters()` and `memory()`, which return the NamedTuples of the kernels for `len(self.arms)` arms and,
    where it is `contextual`, contexts of `self.dimension` numbers an arm, known from the first contexts on.
    """

    apart = True
    kernels: Kernels
    transient = ("_ask_kernel", "_tell_kernel", "_arrays", "_read")
    reward_range: tuple[float, float] = (0.0, 1.0)
    contextual: bool = False
    plays: int = 1
    """How many arms are played in a round, none twice."""
    arms: tuple[Label, ...] | None
    dimension: int | None
    retired: tuple[Label, ...] = ()
    """The arms that are no longer on offer."""
    _counts: list[int]
    """How often each arm was decided for since the policy was made or loaded."""
    _table: tuple[Any, dict[Any, int], bool] | None = None
    """The arms, the position of each label, and whether all are texts, once they were looked up."""
    _told = False
    """Whether it was told anything without a ticket."""
    segment_kernel: Any = None
    """What brings a segment into the state, for the compiled loop of a simulation; None where none does."""
    features: Sequence[str] | None = None
    """The names of the contexts' columns in their order, where a learner from elsewhere says them."""
    encoder: Encoder | Transformer | None = None
    """What turns tables and dicts of contexts into numbers; `encode_with` sets it."""
    holds = False
    """Whether it is told 0 as the probability of a decision that its learner did not wish, and must not learn from."""
    round: int = _later()
    _labels: tuple[Label, ...] = _later()
    _params: Any = _later()
    _state: Any = _later()
    _waiting: Ints = _later()
    _arrays: Any = _later()
    _read: Any = _later()
    """The arrays of the state that the probabilities follow from, by name."""
    _ask_kernel: Any = _later()
    _tell_kernel: Any = _later()

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

    def ask(self, contexts: Any = None, *, available: Any = None, segment: Label | None = None) -> Decision:
        """Take the next decision and hand out its ticket.

        Parameters
        ----------
        contexts : for a contextual policy, a row of numbers an arm, as an array or a data frame; or one row that all
            arms share, as numbers (d,) or (1, d), a dict or a data frame of one row. With an encoder, see
            `encode_with`, tables and dicts may hold text.
        available : the labels of the arms that are on offer in this round, where not all are; order and repeats make no
            difference.
        segment : to which segment the round belongs, such as a country, for a promise inside each.

        Raises
        ------
        ArgumentError
            If no arm is available, one is unknown, or the policy takes every arm to be on offer or knows no segments.
        ContextError
            If `contexts` are missing, not wanted, of another shape, or not finite, or a data frame whose rows are not
            the arms or whose columns are not those of earlier rounds.
        """
        with self._lock:
            shown = self._checked_contexts(contexts) if self.contextual or contexts is not None else NO_CONTEXTS
            if available is not None or segment is not None:
                self._set_round(None if available is None else self._positions(available), segment)
            kept = None if self.kernels.chances is None else self._keep()
            probability: float | Deferred
            index, why, probability = self._choose(shown)
            chances = self.distribution(why)
            number = self._next
            self._next = number + 1
            label = self._labels[index]
            decision = Decision._make((number, self.round, label, index, chances, REASONS[why]))
            decision.reason_code = CODES[why >> CODE_BITS]
            decision.token = self._token
            if kept is not None:
                decision.deferred = probability = self._defer(kept, shown)
            elif chances is not None:
                probability = float(chances[index])
            elif self.kernels.probability is certain:
                decision.certain = True
            else:
                decision.chance = self._propensity(probability)
            if self.plays == 1:
                self._open[number] = (self.round, label, index), shown, probability
                self._waiting[index] += 1
            else:
                indexes = self._slate()
                decision.slate = tuple(self._labels[i] for i in indexes), indexes
                decision.chance, probability = self._slate_chance(), math.nan if chances is not None else probability
                self._open[number] = (self.round, label, index), shown, probability, indexes
                self._waiting[list(indexes)] += 1
            self._last = label if self.plays == 1 else decision.arms, REASONS[why]
            return decision

    @locked
    def probabilities(
        self, contexts: Any = None, *, available: Any = None, segment: Label | None = None
    ) -> dict[Label, float]:
        """Return the probability of each arm at the next `ask`, without asking: given all that happened so far, these
        contexts, and what is on offer. Nothing changes.

        A policy that draws nothing gives 1.0 to the arm that it would play, or to each of several.

        Parameters
        ----------
        contexts, available, segment : as for `ask`.

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
        return self._probabilities_of(contexts, available=available, segment=segment)

    def round_shown(self, contexts: Any = None, *, available: Any = None, segment: Label | None = None) -> Any:
        """Return what a round shows as the policy reads it, equal for two rounds that show the same. Nothing changes.

        Parameters
        ----------
        contexts, available, segment : as for `ask`.

        Raises
        ------
        EvenhandError
            As `ask` does.
        """
        arms, shown = self.arms or (), None
        if contexts is not None:
            read = read_shown(contexts, arms, columns=self._columns, dimension=self.dimension, encoder=self.encoder)
            shown = read[0].tolist()
        offer = self._positions([arm for arm in arms if arm not in self.retired] if available is None else available)
        return shown, set(offer), None if segment is None else writing(label_of(segment))

    def _probabilities_of(self, contexts: Any, **offer: Any) -> dict[Label, float]:
        if getattr(self, "compiled", True):
            decision = self._twin().ask(contexts, **offer)
            chances = decision.probabilities
            if chances is not None:
                return dict(zip(self.arms or (), chances.tolist(), strict=True))
            if decision.propensity is not None:
                return {arm: float(arm in decision.arms) for arm in self.arms or ()}
        what = "one that says with which probabilities it draws"
        mend = "DeadlineLearn over Thompson or EpsilonGreedy does"
        if self.holds:
            mend = "its learner's wish is held until it is granted; lottery= draws by known ones"
        raise ArgumentError(wanted("policy", what, type(self).__name__, mend))

    def _twin(self) -> Self:
        """Return a policy in the same state that may be asked without a trace, and shares the machine code."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self) | {"_open": {}})
        if self._begun:
            twin._state, twin._waiting, twin._counts = copied(self._state), self._waiting.copy(), [*self._counts]
            if "_arrays" in vars(self):
                twin._bind_arrays()
        return twin

    def _keep(self) -> dict[str, Any] | None:
        """Return copies of what the probabilities of the next decision follow from."""
        return {name: array.copy() for name, array in self._read}

    def _defer(self, kept: dict[str, Any], shown: Floats) -> Deferred:
        """Return the probabilities of the decision just taken, to be computed when they are read."""
        chances = self.kernels.chances
        assert chances is not None
        return Deferred((chances.of, self._params, self._state, shown, self.round, kept))

    def distribution(self, why: int) -> Floats | None:
        """Return the distribution (n_arms,) that the decision just taken was drawn from, None where none is known, or
        where it is computed when it is read."""
        if self.kernels.probability in (certain, unknown):
            return None
        return np.array([self._probability(index) for index in range(len(self._labels))])

    def _propensity(self, probability: float) -> float | None:
        """Return the propensity of a decision whose ticket has this probability."""
        return probability

    def tell(self, decision: Decision | int, reward: Any) -> None:
        """Record the reward of a ticket, given as the decision or its id; late and out of order is fine.

        Where several arms were played, `reward` is a list in the order of `decision.arms`, or a dict arm -> reward.

        Raises
        ------
        RewardError
            If the reward is not a finite number in the policy's range.
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If the ticket was never handed out, was told or forgotten before, or is another policy's.
        """
        with self._lock:
            number, ((round, _, index), shown, probability, *slate) = self._ticket(decision)
            if slate:
                for index, one in self._slate_rewards(slate[0], reward):
                    self._update(shown, index, one, (round or 0, probability))
                    self._waiting[index] -= 1
            else:
                reward = self._checked_reward(reward)
                chance = probability if type(probability) is float else self._chance(probability, index)
                self._update(shown, index, reward, (round or 0, chance))
                self._waiting[index] -= 1
            del self._open[number]

    def _slate_rewards(self, indexes: tuple[int, ...], reward: Any) -> list[tuple[int, float]]:
        """Return the reward of each arm of a round, or refuse them all."""
        labels = [self._labels[index] for index in indexes]
        what = "a list in the order of decision.arms, or a dict arm -> reward"
        given = by_label(reward, "reward", what, self._labels, refusal=RewardError)
        unnamed = isinstance(given, dict) and set(given) != set(labels)
        if len(given) != len(labels) or unnamed:
            raise RewardError(wanted("reward", f"one for each of the arms {labels}", reward))
        ordered = [given[label] for label in labels] if isinstance(given, dict) else list(given)
        return [(index, self._checked_reward(one)) for index, one in zip(indexes, ordered, strict=True)]

    @locked
    def tell_all(self, decisions: Sequence[Decision | int], rewards: Sequence[Any]) -> None:
        """Record the rewards of many tickets in their order: of all of them, or of none where one is refused. A Series
        of rewards by ticket number is matched by it.

        Raises
        ------
        ArgumentError
            If there are not as many rewards as decisions, they carry different row labels, or a ticket is given twice.
        RewardError, UnknownTicketError, ClosedTicketError, ForeignTicketError
            As `tell` does.
        """
        told = _listed("decisions", decisions)
        tickets = dict(map(self._ticket, told))
        if len(tickets) < len(told):
            raise ArgumentError(wanted("decisions", "each ticket once", f"{len(told)} of {len(tickets)} tickets"))
        _, rewards = in_step(("decisions", decisions), ("rewards", rewards), labels=list(tickets))
        paid = _listed("rewards", rewards)
        if len(told) != len(paid):
            raise ArgumentError(wanted("rewards", f"{len(told)}, one for each decision", len(paid)))
        for (_, _, _, *slate), reward in zip(tickets.values(), paid, strict=True):
            if slate:
                self._slate_rewards(slate[0], reward)
            else:
                self._checked_reward(reward)
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

        Only what is known about rewards changes. The rows are no rounds and no decisions of this policy: a promise
        counts none of them. All rows are learned, in their order, or none where one is refused.

        Parameters
        ----------
        log : a row a decision.
        arm, reward : names of its columns.
        contexts : for a contextual policy the columns with the contexts of the arm that was decided for.
        probability : the column with the probability of each decision, which `Exp3` weighs rewards by; None for evenly
            random decisions.

        Raises
        ------
        TableError
            If a column is missing, an arm is unknown, a reward is not a number in the policy's range, or a probability
            or context is no such number; row and column are named.
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
        encoder, frame = self.encoder, as_pandas(log)
        numbers, known = (self._numbers, self._columns) if encoder is None else (None, None)
        columns = columns_of(contexts, self.contextual, numbers, known)
        arms = self._labels if self.arms is None else self.arms
        seen = feature_columns(frame, columns, -LARGEST, LARGEST) if encoder is None else encoder.transform(frame)
        rows = rows_of(frame, arms, seen, arm, reward, probability, pays=self.reward_range, largest=LARGEST)
        if columns:
            self.begin(seen.shape[1])
            self._name_columns(self._columns or (columns if encoder is None else None))
        self._told = True
        for index, paid, chance, shown in rows:
            self._update(shown, index, paid, (self.round, chance))

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

        The encoder is saved with the policy. Arrays and lists are taken for numbers that are encoded already.

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
        name = type(self).__name__
        if not self.contextual:
            raise ArgumentError(wanted("encoder", f"none: {name} sees no contexts", encoder))
        if self._begun:
            raise ArgumentError(wanted("encoder", f"a {name} that has seen no contexts yet", "one that has"))
        read, learned = as_encoder(encoder), self._columns
        if learned is not None and getattr(read, "names", None) != learned:
            raise ArgumentError(wanted("encoder", f"an Encoder of the learner's features {learned}", encoder))
        self.encoder = read
        return self

    @locked
    def forget(self, decision: Decision | int) -> None:
        """Close a ticket whose reward will never come; the decision itself still counts as taken."""
        number, ((_, _, index), _, _, *slate) = self._ticket(decision)
        self._waiting[list(slate[0]) if slate else index] -= 1
        del self._open[number]

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
        old = [number for number, ((round, *_), *_) in self._open.items() if (round or first) < first]
        for number in old:
            self.forget(number)
        return old

    @locked
    def choose(self, contexts: Any = None) -> int:
        """Take the next decision without a ticket and return the arm's index, that of the best where several are
        played."""
        return self._choose(self._checked_contexts(contexts))[0]

    @locked
    def update(self, *contexts_index_reward: Any) -> None:
        """Learn from `(index, reward)`, or `(contexts, index, reward)` for a contextual policy, without a ticket."""
        *contexts, index, reward = contexts_index_reward
        shown = self._checked_contexts(*contexts)
        if not is_whole(index) or not 0 <= index < len(self._labels):
            raise ArgumentError(wanted("index", f"an arm's index below {len(self._labels)}", index))
        reward = self._checked_reward(reward)
        self._told = True
        self._update(shown, int(index), reward, (self.round, self._probability(int(index))))

    @property
    @locked
    def taught(self) -> bool:
        """Whether it has decided or learned anything since it was made, by tickets or without."""
        if not self._begun or self.round or self._told:
            return self._begun
        fresh = self.fresh()
        fresh.begin(self.dimension or 0)
        return any(a.tobytes() != b.tobytes() for a, b in zip(flat(self._state), flat(fresh._state), strict=True))

    # ------------------------------------------------------------------ notebooks

    def _facts(self) -> dict[str, Any]:
        traits = traits_of(self)
        owed = {} if traits.kept is None else {"promise": f"kept {traits.kept}"}
        inside = {} if traits.learner is None else {"learner": traits.learner}
        return {**inside, **owed, "rounds": self.round if self._begun else 0}

    def _tables(self) -> list[Table]:
        if not self._begun:
            return [arms_table(traits_of(self))]
        return [arms_table(traits_of(self), self._decided(), self._waiting, self.round)]

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
        """Return a copy with more arms behind those that it has, which keeps what it has learned.

        Raises
        ------
        ArgumentError
            If it cannot be made for these arms alone, as it knows more of each.
        """
        config = {name: copy.deepcopy(value) for name, value in self.config().items()} | {"arms": tuple(arms)}
        try:
            more = type(self)(**config)
        except (TypeError, ArgumentError) as error:
            name = type(self).__name__
            raise ArgumentError(wanted("arm", f"one that {name} knows", "a new one", "make a new policy")) from error
        more.begin(self.dimension or 0)
        more.round = self.round
        for mine, theirs in zip(flat(more._state), flat(self._state), strict=True):
            mine[tuple(map(slice, theirs.shape))] = theirs
        return more

    @locked
    def begin(self, dimension: int) -> None:
        """Make ready for contexts (n_arms, dimension); the first contexts that are shown do so by themselves."""
        if not self._begun:
            self.dimension = dimension
            self._begin()

    @locked
    def compile(self) -> None:
        """Compile the kernels now; by themselves they run as plain Python until it pays to compile them."""
        for half in (self._ask_kernel, self._tell_kernel):
            if isinstance(half, Gradual):
                half.compile()

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        body: dict[str, Any] = {"config": self.config(), "dimension": self.dimension if self._begun else None}
        if self._begun:
            body |= {"round": self.round, "tickets": self._saved_tickets(), "state": flat(self._state)}
            body["columns"] = self._columns
            body["waiting"] = self._waiting
        if self.encoder is not None:
            body["encoder"] = self.encoder
        return body

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the policy that `snapshot` was taken of."""
        policy = cls(**snapshot["config"])
        policy.encoder = snapshot.get("encoder")
        if snapshot["dimension"] is None:
            return policy
        policy.begin(snapshot["dimension"])
        policy._take_form(snapshot)
        policy.round = snapshot["round"]
        for name, own, saved in zip(names(policy._state), flat(policy._state), snapshot["state"], strict=True):
            fill(own, saved, f"state.{name}")
        policy._name_columns(snapshot["columns"])
        policy._resume(snapshot["tickets"])
        fill(policy._waiting, snapshot["waiting"], "waiting")
        return policy

    def _kept(self, remembered: Any) -> tuple[Any, ...]:
        (round, _, index), shown, probability, *slate = remembered
        if isinstance(probability, Deferred):
            probability = float(probability()[index])
        return round or 0, np.array(slate[0]) if slate else index, shown, probability

    def _remembered(self, *kept: Any) -> tuple[Any, ...]:
        round, index, shown, probability = (*kept, self._told_probability())[:4]
        slate = index.tolist() if isinstance(index, np.ndarray) and self.plays > 1 else [index]
        said = (round or None, self._labels[slate[0]], slate[0]), shown, probability
        return said if self.plays == 1 else (*said, tuple(slate))

    @cached_property
    def sees_ticket(self) -> bool:
        """Whether what learns from a reward looks at its ticket."""
        origin = self.kernels.update._origin
        return origin is None or origin[0] is not without_ticket

    def _chance(self, probability: Deferred, index: int) -> float:
        """Return the probability of a decision, nan where nothing looks at it, which saves computing it."""
        return float(probability()[index]) if self.sees_ticket else math.nan

    def _told_probability(self) -> float:
        """Return the probability of decisions of which it was not written down."""
        return 1.0 if self.kernels.probability is certain else math.nan

    def _logged(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        contexts = self._checked_contexts(shown.get("contexts")) if self.contextual else NO_CONTEXTS
        chance, probabilities = self._told_probability(), decided.get("probabilities")
        if decided.get("propensity") is not None:
            chance = float(decided["propensity"])
        elif probabilities is not None and self.kernels.probability is not certain:
            chance = float(probabilities[decided["index"]])
        index = decided["index"] if self.plays == 1 else np.array(decided["indexes"], np.int64)
        return decided["round"], index, contexts, chance

    # ------------------------------------------------------------------ inside

    def _positions(self, available: Any) -> list[int]:
        """Return the positions of the arms that are on offer."""
        if isinstance(available, Mapping):
            mend = "keep those that are: [arm for arm, here in available.items() if here]"
            raise ArgumentError(wanted("available", "a list of the arms on offer", available, mend))
        try:
            found = self._places_of(listed(available))
        except TypeError:
            found = None
        if found is None:
            raise ArgumentError(wanted("available", f"labels of the arms {list(self.arms or ())}", available))
        if not found:
            raise ArgumentError(wanted("available", "at least one arm", available))
        return list(dict.fromkeys(found))

    def _places_of(self, labels: list[Any]) -> list[int] | None:
        """Return the position of each label, None where one is no arm's; the table of labels is made once."""
        if self._table is None or self._table[0] is not self.arms:
            self._table = self.arms, places(self.arms or ()), not any(isinstance(arm, int) for arm in self.arms or ())
        _, known, texts = self._table
        if texts or NO_LABELS.isdisjoint(map(type, labels)):
            try:
                return list(map(known.__getitem__, labels))
            except KeyError:  # the same label may be written otherwise
                pass
        if not NO_LABELS.isdisjoint(map(type, labels)):
            return None
        found = [find_label(label, known) for label in labels]
        return None if None in found else found  # type: ignore[return-value]

    def _set_round(self, available: list[int] | None, segment: Any) -> None:
        """Have the next decision taken among these arms alone, and inside a segment."""
        name, got = "segment", segment
        if available is not None:
            name, got = "available", [self._labels[arm] for arm in available]
        what = f"None: {type(self).__name__} takes every arm to be on offer and knows no segments"
        raise ArgumentError(wanted(name, what, got, "DeadlineLearn knows both"))

    def forget_machine_code(self) -> None:
        """Have the kernels bound anew at the next decision, as their arrays are others now."""
        for name in self.transient:
            self.__dict__.pop(name, None)

    def _take_form(self, snapshot: dict[str, Any]) -> None:
        """Take the form that the state of a snapshot has, where there are several."""

    def _slate(self) -> tuple[int, ...]:
        """Return the positions of the arms of the last round, where several are played."""
        raise NotImplementedError

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
        packers = {
            "split": len(flat(self._params)),
            "pack_params": packer(self._params),
            "pack_state": packer(self._state),
        }
        self._bind_arrays()
        ask = entry(_ask, choose=self.kernels.choose, probability=self.kernels.probability, **packers)
        tell = entry(_tell, update=self.kernels.update, **packers)
        calls = PLAIN_WORK // (
            self.call_work() + sum(array.size for array in self._arrays if isinstance(array, np.ndarray))
        )
        seen = NO_CONTEXTS, self._waiting, self._arrays
        self._ask_kernel = Gradual(ask, (1, *seen), calls, partial(setattr, self, "_ask_kernel"))
        self._tell_kernel = Gradual(
            tell, (0, 0.0, 0, 1.0, NO_CONTEXTS, self._arrays), calls, partial(setattr, self, "_tell_kernel")
        )

    def _bind_arrays(self) -> None:
        """Name the arrays that the machine code works on, and those that the probabilities follow from."""
        self._arrays = (*flat(self._params), *flat(self._state))
        chances = self.kernels.chances
        if chances is not None:
            self._read = [*chances.read(zip(names(self._state), flat(self._state), strict=True))]
            if chances.waiting:
                self._read.append((WAITING, self._waiting))

    def _checked_contexts(self, contexts: Any = None) -> Floats:
        if not self.contextual:
            if contexts is None:
                return NO_CONTEXTS
            raise ContextError(wanted("contexts", "none: this policy sees no contexts", contexts, "call ask()"))
        shown, columns = read_shown(
            contexts, self.arms or (), columns=self._columns, dimension=self._numbers, encoder=self.encoder
        )
        if self.dimension is None:
            self.begin(shown.shape[1])
        if columns is not self._columns:
            self._name_columns(columns)
        return shown

    def _name_columns(self, columns: list[str] | None) -> None:
        self._columns = columns

    @property
    def _numbers(self) -> int | None:
        """How many numbers describe an arm, None where nothing says so yet."""
        return self.dimension if self.dimension is not None or self.features is None else len(self.features)

    def _checked_reward(self, reward: float) -> float:
        low, high = self.reward_range
        if type(reward) is not float:
            if isinstance(reward, bool) or getattr(reward, "dtype", None) == np.bool_:
                raise RewardError(wanted("reward", "a number", reward, "write 1.0 for yes and 0.0 for no"))
            given, reward = reward, as_float(reward)
            if not math.isfinite(reward) and not isinstance(given, (float, np.floating)):
                one = "one number" if math.isinf(reward) or getattr(given, "shape", ()) else "a number"
                raise RewardError(wanted("reward", one, given))
        if not (low <= reward <= high and abs(reward) <= LARGEST):
            inside = (
                f"a finite number, of at most {LARGEST:g}" if math.isinf(high) else f"a number in [{low:g}, {high:g}]"
            )
            raise RewardError(
                wanted("reward", inside, reward, "" if math.isinf(high) else "scale rewards to that range")
            )
        return reward


def _listed(name: str, given: Any) -> list[Any]:
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0:
        raise ArgumentError(wanted(name, "a list, one for each decision", given))
    return list(given)


choose = update = probability = pack_params = pack_state = OPEN
split = 0


@kernel
def _ask(round: int, contexts: Floats, waiting: Ints, arrays: Any) -> tuple[int, int, float]:
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    index, why = choose(params, state, contexts, round, waiting)
    return index, why, probability(params, state, index)


@kernel
def _tell(index: int, reward: float, round: int, chance: float, contexts: Floats, arrays: Any) -> None:
    params, state = pack_params(*arrays[:split]), pack_state(*arrays[split:])
    update(params, state, contexts, index, reward, Ticket(round, chance))
