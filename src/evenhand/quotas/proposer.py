"""What proposes arms under a quota rule: a learner with kernels, or one from elsewhere, called between the rule's own.

A learner from elsewhere is asked among the arms on offer, once for each play. While an arm would be played that it did
not name, it is asked again among those that may be played, where it can be: so the arm that is played is always the
best that the promise allows, as with a learner of evenhand that ranks all arms. A learner that names one arm and cannot
be asked again leaves such rounds to the promise, and a warning says so once.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.data.encoding import Encoder, Transformer
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.kernels.arrays import Floats, Ints
from evenhand.kernels.compose import bind, entry, flat, interpreted, packers
from evenhand.learners.adapter import Adapter, asks_among, learner_facts, reward_range_of, scores_of, wishes_of
from evenhand.policy.answers import LearnerAnswers
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.kernel_set import FORCED, Kernels
from evenhand.promises.allowed import BY_CAP, BY_DEADLINE
from evenhand.protocol import Label
from evenhand.quotas.composed import DRAWN, draw_ranked
from evenhand.quotas.pending_proposal import CALLED_FROM_PYTHON, propose, resolve_proposal, restore_proposal
from evenhand.quotas.quota_kernels import (
    NOT_KNOWN,
    PROPOSAL,
    NoLearner,
    QuotaRule,
    RankingRule,
    explain_cause,
    must_play_alone,
    resolve_alone,
    select_alone,
)
from evenhand.quotas.shadow_prices import settle_prices

SPARE = "make a new policy with all arms, and a spare one that is owed nothing"
ROWS = 'or wrap it in Adapter(..., arms="rows") if it can rank any rows of contexts, or with add= if it can be told'


def name_of(learner: object) -> str:
    """Return the name of a learner's class, or of what an adapter wraps."""
    inner = learner_facts(learner).learner
    return type(learner if inner is None else inner).__name__


def grown(learner: KernelPolicy, arms: tuple[Label, ...]) -> KernelPolicy:
    """Return a copy of a learner with more arms after those that it has, which keeps what it has learned.

    Raises
    ------
    ArgumentError
        If the learner cannot be made from its settings and the arms alone.
    """
    try:
        more = learner._made_again(arms=arms)
    except (TypeError, ArgumentError) as error:
        what = f"one that {type(learner).__name__} knows"
        raise ArgumentError(expected("arm", what, Wording("a new one"), SPARE)) from error
    more._begin(learner.dimension or 0)
    more.engine.take_over(learner.engine)
    return more


class KernelProposer:
    """A learner with kernels, which stands inside the same compiled function as the rule."""

    compiled = True
    answers: LearnerAnswers | None = None

    def __init__(self, learner: Any) -> None:
        self.learner = self.given = learner.fresh()
        """The learner that the policy asks, and the same as it was given."""
        traits, self.features, self.encoder = learner._traits, learner._features, learner.contexts.encoder
        self.contextual, self.reward_range = bool(traits.contextual), traits.reward_range
        self.ranks, self.sees_ticket = learner._kernels.rank is not None, learner._sees_ticket
        self.scored, self.own_rows = traits.scored, traits.own_rows

    def takes_new_arms(self, arms: tuple[Label, ...]) -> bool:
        """Return whether one more arm can join these."""
        try:
            self.given._made_again(arms=(*arms, max(map(str, arms), key=len) + "'"))
        except (TypeError, ArgumentError):
            return False
        return True

    @property
    def arrays(self) -> tuple[Any, Any]:
        """Its parameters and its state, which the last fields of the rule's hold."""
        return self.learner.engine.params, self.learner.engine.state

    def kernels(self, under_rule: Callable[[Kernels], Kernels], held: bool, drawn: bool) -> Kernels:
        """Return the kernels of the policy; `under_rule` puts those of a learner under the rule."""
        return under_rule(self.learner._kernels)

    def begin(self, arms: Sequence[Label], dimension: int, seed: int, encoder: Encoder | Transformer | None) -> None:
        """Start without memory."""
        self.learner = self.learner.fresh(arms=arms, seed=seed)
        self.learner._begin(dimension)
        self.learner.contexts.encoder = encoder

    def name_columns(self, columns: list[str] | None) -> None:
        """Take the names of the contexts' columns."""
        self.learner._name_columns(columns)

    def grow(self, arms: tuple[Label, ...]) -> None:
        """Take more arms behind those that there are, or refuse to."""
        self.learner = grown(self.learner, arms)
        if self.given.arms is not None:
            self.given = grown(self.given, arms).fresh()


class PythonProposer:
    """A learner from elsewhere: any object that can choose an arm and be told its reward."""

    compiled, ranks, sees_ticket, own_rows, scored, encoder = False, True, False, False, None, None
    arrays = NoLearner(np.zeros(0)), NoLearner(np.zeros(0))
    warned = False
    """Whether a warning has said that it was not heard."""

    def __init__(self, learner: Any, arms: int) -> None:
        said = learner_facts(learner)
        if isinstance(learner, type):
            raise ArgumentError(expected("learner", "a learner, not its class", learner, f"write {learner.__name__}()"))
        if not (callable(said.choose) and callable(said.update)):
            hint = "wrap it in evenhand.learners.Adapter"
            raise ArgumentError(expected("learner", "an object with choose() and update(index, reward)", learner, hint))
        if said.known_arms is not None and said.known_arms != arms:
            raise ArgumentError(expected("learner", f"one for {arms} arms", f"one for {said.known_arms}"))
        self.learner, self.given, self.contextual = learner, copy.deepcopy(learner), bool(said.contextual)
        self.features = learner.features if isinstance(learner, Adapter) else None
        self.answers = LearnerAnswers()
        self.reward_range = reward_range_of(learner, (0.0, 1.0))

    def kernels(self, under_rule: Callable[[Kernels], Kernels], held: bool, drawn: bool) -> Kernels:
        """Return kernels that are called from Python, of a policy whose learner none are written for."""
        return CALLED_FROM_PYTHON if held else DRAWN if drawn else NOT_KNOWN

    def begin(self, arms: Sequence[Label], dimension: int, seed: int, encoder: Encoder | Transformer | None) -> None:
        """Go on: a learner from elsewhere is taken as it is."""

    def name_columns(self, columns: list[str] | None) -> None:
        """Do nothing: it is told no names."""

    def takes_new_arms(self, arms: tuple[Label, ...]) -> bool:
        """Return whether one more arm can join these."""
        return isinstance(self.learner, Adapter) and self.learner.takes_new_arms

    def grow(self, arms: tuple[Label, ...]) -> None:
        """Take more arms behind those that there are, or refuse to."""
        if not self.takes_new_arms(arms):
            raise ArgumentError(
                expected("arm", f"one that {name_of(self.learner)} knows", Wording("a new one"), f"{SPARE}; {ROWS}")
            )
        for one in (self.given, self.learner):
            one.grow(arms)

    def warn(self) -> None:
        """Say once that it was not heard."""
        if self.warned:
            return
        self.warned = True
        warnings.warn(
            f"learner: {name_of(self.learner)} names an arm that may not be played now, so the promise alone decides; "
            "let choose() return a ranking of the arms, or say among=True and let it choose among those that it gets",
            stacklevel=9,
        )


Proposer = KernelProposer | PythonProposer
"""What a quota policy asks, by one path: either answers to the same names."""


@dataclass(eq=False)
class PythonCalls:
    """Decides between the kernels of a rule by what a learner from elsewhere proposes, and tells it its rewards.

    Attributes
    ----------
    rule, params, state : the rule and its arrays.
    plays : how many arms are played in a round.
    drawn : whether a lottery draws them.
    held : whether refused proposals are held.
    priced : whether prices stand in front of the learner's scores.
    may_come : the kernel that says whether an arm is on offer and below its cap.
    to_ranking : goes over to a rule that goes down rankings, in the middle of a round, and returns what decides from
        then on; returns None where only the first arm of a ranking counts.
    """

    proposer: PythonProposer
    rule: QuotaRule | RankingRule
    params: Any
    state: Any
    plays: int
    drawn: bool
    held: bool
    priced: bool
    may_come: Any
    to_ranking: Callable[[], PythonCalls | None]
    _decisions: int = 0

    def __post_init__(self) -> None:
        self._among, self._every = asks_among(self.proposer.learner), list(range(len(self.state.pulls)))
        self.arrays = (*flat(self.params), *flat(self.state))
        pack = dict(packers(self.params, self.state))
        kernels = pack | {name: one for name, one in self.rule._asdict().items() if name != "reads"}
        if isinstance(self.rule, RankingRule):
            self._select = entry(draw_ranked, **pack) if self.drawn else entry(select_alone, **kernels)
        else:
            self.must_play, self.resolve = entry(must_play_alone, **kernels), entry(resolve_alone, **kernels)

    def ask(self, round: int, contexts: Floats, waiting: Ints, arrays: object) -> tuple[int, int, float]:
        """Return the arm of a round, why it is that, and with which probability the learner proposed it."""
        self.proposer.answers.begin()
        pending, chance = self.state.learner, math.nan
        if self.held and not bind(restore_proposal, may_come=self.may_come)(self.state, round - 1):
            propose(pending, self._wishes(contexts)[0], PROPOSAL, math.nan)
        arm, why = self._chosen(round, contexts)
        if self.priced:
            settle = interpreted(bind(settle_prices, may_come=self.may_come))
            why = settle(self.params, self.state, arm, why, round)
        if self.held:
            resolve_proposal(pending, arm)
            chance = math.nan if pending.told[0] < 0.0 else float(pending.told[0])
        self._decisions += 1
        return arm, why, chance

    def tell(self, index: int, reward: float, round: int, chance: float, contexts: Floats, arrays: Any) -> None:
        """Tell the learner a reward, where it is not that of an arm in the place of its pending proposal."""
        if not (self.held and chance == 0.0):
            self.proposer.learner.update(*([contexts] if self.proposer.contextual else []), index, reward)

    def down_ranking(self, round: int, contexts: Floats, said: list[int]) -> tuple[int, int]:
        """Have the rule choose the arms of the round down a ranking, the best first, whose learner is asked again as
        far as need be; return the first, and why it is these."""
        state, arrays = self.state, flat(self.state)
        while True:
            before = [array.copy() for array in arrays] if self._among else []
            state.scores[:] = -math.inf
            state.scores[said] = -np.arange(len(said))
            cause: int = self._select(round, self.arrays)
            open = self._unheard(said, cause, round)
            if not open or not self._among:
                break
            for array, kept in zip(arrays, before, strict=True):
                array[:] = kept
            said = [*said, *(self._wishes(contexts, open) if len(open) > 1 else open)]
        if len(open) > 1 and cause != BY_DEADLINE:
            self.proposer.warn()
        return int(state.chosen[0]), interpreted(explain_cause)(cause, PROPOSAL)

    def _chosen(self, round: int, contexts: Floats) -> tuple[int, int]:
        if isinstance(self.rule, RankingRule):
            return self.down_ranking(round, contexts, self._asked(contexts))
        forced = proposal = int(self.must_play(round, self.arrays))
        if forced < 0:
            said = self._asked(contexts)
            ranking = self.to_ranking() if len(said) > 1 and not self._among else None
            if ranking is not None:
                return ranking.down_ranking(round, contexts, said)
            proposal = said[0]
        arm = int(self.resolve(round, proposal, self.arrays))
        return arm, PROPOSAL if forced < 0 and arm == proposal else FORCED

    def _asked(self, contexts: Floats) -> list[int]:
        """Return the proposals of the round, as many as it needs, the best first; the pending one where it is held."""
        if self.held:
            return [int(self.state.learner.proposal[1])]
        said = self._wishes(contexts)
        while self._among and len(said) < self._needed:
            said += self._wishes(contexts, [arm for arm in self._on_offer if arm not in said])
        return said

    def _wishes(self, contexts: Floats, arms: list[int] | None = None) -> list[int]:
        """Return what the learner proposes, of these arms where it can say; by default of those on offer."""
        proposer, decisions, among = self.proposer, self._decisions, self._every
        if self._among:
            among = self._on_offer if arms is None else arms
        shown = [contexts] if proposer.contextual else []
        if self.priced:
            scores = proposer.answers.heard(scores_of(proposer.learner, shown, among).tolist())
            said = self._priced(np.array(scores), among)
        else:
            said = proposer.answers.heard(wishes_of(proposer.learner, shown, among, "learner.choose()"))
        if self._decisions != decisions:
            raise ArgumentError(expected("learner.choose()", "to decide without asking its own policy", "an ask"))
        return said

    def _priced(self, scores: Floats, among: Sequence[int]) -> list[int]:
        """Return these arms, the best first with the prices in front of their scores."""
        priced = self.state.learner
        priced.scores[among] = scores
        ranking = np.argsort(-(scores + priced.prices[among]), kind="stable")
        return [among[place] for place in ranking]

    @property
    def _on_offer(self) -> list[int]:
        return np.flatnonzero(self.state.offered).tolist() if isinstance(self.rule, RankingRule) else self._every

    @property
    def _needed(self) -> int:
        """How many proposals a round needs: one for each play; of a lottery over slates all, as it draws by ranks."""
        return len(self._on_offer) if self.drawn and self.plays > 1 else min(self.plays, len(self._on_offer))

    def _unheard(self, said: list[int], cause: int, round: int) -> list[int]:
        """Return the arms among which the promise chose without the learner, which named none of them; [] where it was
        heard."""
        state, offered = self.state, self._on_offer
        chosen = {arm for arm in state.chosen.tolist() if arm >= 0}
        if self.plays > 1:
            open = set(offered)
        elif self.drawn:
            open = set(np.flatnonzero(state.open).tolist())
        elif cause in (BY_DEADLINE, BY_CAP):
            open = set(np.flatnonzero(state.open).tolist()) | chosen
        else:
            open = {arm for arm in offered if state.cap_whole[arm] < round} | chosen
        heard = len(open & set(said)) >= self._needed if self.drawn else chosen <= set(said)
        return [] if heard else sorted(open - set(said))
