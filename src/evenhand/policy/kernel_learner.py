"""What a policy over kernels knows and learns, by the numbers of its arms: the learner that rules are built around."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from evenhand.arguments import is_whole
from evenhand.data.contexts import LARGEST, feature_columns
from evenhand.errors import ArgumentError, Wording, wanted
from evenhand.frames import as_pandas
from evenhand.kernels.arrays import Floats, Words
from evenhand.policy.ask_tell import Configured, locked
from evenhand.policy.context_reader import ContextReader
from evenhand.policy.engine import PLAIN_CALL, Calls, Engine
from evenhand.policy.given import checked_reward
from evenhand.policy.kernel_set import Kernels, without_ticket
from evenhand.policy.log_rows import rows_of
from evenhand.policy.tickets import COPIED
from evenhand.policy.traits import Traits
from evenhand.protocol import Label, arm_labels
from evenhand.rng import Seed, draw_seed, stream

if TYPE_CHECKING:
    import pandas as pd


class KernelLearner(Configured):
    """A learner over kernels: `choose` and `update` by index, `learn` from a log; it hands out no tickets."""

    _kernels: Kernels
    _traits: Traits = Traits(contextual=False, reward_range=(0.0, 1.0))
    arms: tuple[Label, ...] | None
    seed: int
    _features: Sequence[str] | None = None
    """The names of the contexts' columns in their order, where a learner from elsewhere says them."""
    _engine: Engine | None = None
    """Its numbers, once it knows its arms and its contexts' dimension."""
    _told = False
    """Whether it was told anything without a ticket."""
    _reversible = False
    """Whether what it is told now is taken back if something fails."""

    def __init__(self, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> None:
        super().__init__()
        self.arms = None if arms is None else arm_labels(arms)
        self.seed = draw_seed(seed)
        self._rewards = self._traits.reward_range or (-math.inf, math.inf)
        self.contexts = ContextReader(bool(self._traits.contextual), self._features)
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
        if self._engine is None:
            raise self._unready()
        return self._engine

    @property
    def _labels(self) -> tuple[Label, ...]:
        """The arms, where they are known."""
        if self.arms is None:
            raise self._unready()
        return self.arms

    def _unready(self) -> ArgumentError:
        lacks = "arms yet; give it arms=10 or arms=[labels], or pass it to FairLearn or simulate"
        if self.arms is not None:
            first = "ask(contexts) first"
            lacks = f"contexts' dimension yet; {first}; if a study decides, read study.policy: {COPIED}"
        return ArgumentError(f"{type(self).__name__} does not know its {lacks}")

    @property
    def round(self) -> int:
        """How many rounds it has decided."""
        return 0 if self._engine is None else self._engine.round

    @property
    def dimension(self) -> int | None:
        """How many numbers describe an arm: 0 for a policy that sees no contexts, None before the first ones."""
        return self.contexts.dimension

    # ------------------------------------------------------------------ learning

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
        reward, engine = checked_reward(reward, *self._rewards), self.engine
        self._told = True
        engine.tell(shown, int(index), reward, engine.round, engine.probability(int(index)))

    @property
    @locked
    def _has_history(self) -> bool:
        """Whether it has decided or learned anything since it was made, by tickets or without."""
        if self._engine is None:
            return False
        return bool(self.round) or self._told or self._engine.differs(self._pristine())

    def _pristine(self) -> Engine:
        """Return its numbers as they were when it was made."""
        fresh = self.fresh()
        fresh._begin(self.dimension or 0)
        return fresh.engine

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
        frame, columns = as_pandas(log), self.contexts.log_columns(contexts)
        encoder = self.contexts.encoder
        seen = feature_columns(frame, columns, -LARGEST, LARGEST) if encoder is None else encoder.transform(frame)
        rows = rows_of(frame, self._labels, seen, arm, reward, probability, self._rewards)
        if columns:
            self._begin(seen.shape[1])
            self._name_columns(self.contexts.columns or (columns if encoder is None else None))
        with self._all_or_none():
            for index, paid, chance, shown in rows:
                self.engine.tell(shown, index, paid, self.round, chance)
        self._told = True

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """Take back whatever it is told in a block that fails, as where a learner from elsewhere raises."""
        if self._reversible or self._engine is None:  # within another such block, which takes back all
            yield
            return
        go_back = self._way_back()
        self._reversible = True
        try:
            yield
        except BaseException as error:
            go_back()
            error.add_note("nothing was recorded: the same call can be repeated")
            raise
        finally:
            self._reversible = False

    def _way_back(self) -> Callable[[], None]:
        """Return what takes back all that it is told from now on."""
        return self.engine.way_back()

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
        self.contexts.encode_with(encoder, type(self).__name__)
        return self

    @cached_property
    def _sees_ticket(self) -> bool:
        """Whether what learns from a reward looks at its ticket."""
        origin = self._kernels.update._origin
        return origin is None or origin[0] is not without_ticket

    # ------------------------------------------------------------------ copies

    def fresh(self, *, arms: int | Sequence[Label] | None = None, seed: Seed = None) -> Self:
        """Return a policy of the same configuration without memory; `arms` names its arms where it has none yet."""
        config = {name: copy.deepcopy(value) for name, value in self.config().items()}
        if "arms" in config and self.arms is None:
            config["arms"] = arms
        config["seed"] = self.seed if seed is None else seed
        made = type(self)(**config)
        made.contexts.encoder = self.contexts.encoder
        return made

    def _grown(self, arms: Sequence[Label]) -> Self:
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
        more._begin(self.dimension or 0)
        more.engine.take_over(self.engine)
        return more

    @locked
    def _begin(self, dimension: int) -> None:
        """Prepare for contexts (n_arms, dimension); the first contexts that are shown do so automatically."""
        if self._engine is None:
            self.contexts.dimension = dimension
            self._start()

    # ------------------------------------------------------------------ inside

    def _start(self) -> None:
        params, state = self._parameters(), self._memory()
        work, arms = self._call_work(params), len(self._labels)
        self._engine = Engine(
            self._kernels, params, state, arms=arms, plays=self._traits.plays, work=work, connect=self._connection()
        )

    def _call_work(self, params: Any) -> int:
        """Return about how many array entries a call of the kernels touches beside those of its arguments."""
        return PLAIN_CALL

    def _connection(self) -> Callable[[], Calls] | None:
        """Return what makes the calls that take the place of the kernels; None where they stand for themselves."""
        return None

    def _choose(self, shown: Floats) -> tuple[int, int, float]:
        """Return the arm of the next round, why it is that, and with which probability it was picked."""
        return (self._engine or self.engine).ask(shown)

    def _read_contexts(self, contexts: Any = None) -> Floats:
        """Return the contexts (n_arms, d) of a round; the first ones make the policy ready for their dimension."""
        shown, columns = self.contexts.read(contexts, self.arms or ())
        if self.dimension is None:
            self._begin(shown.shape[1])
        if columns is not self.contexts.columns:
            self._name_columns(columns)
        return shown

    def _name_columns(self, columns: list[str] | None) -> None:
        self.contexts.columns = columns
