"""The search: phases of trials, each planned by the allocation program, after each of which candidates are dropped.

A search is used through data frames (`ask`, `tell`, `recommend`), for trials that run in the real world over weeks, or
by the same rules through sufficient statistics (`plan`, `absorb`), which simulations call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np

from evenhand.arguments import real, whole, yes_or_no
from evenhand.display.html import Table
from evenhand.errors import ArgumentError, TableError, UnknownTicketError, expected
from evenhand.interventions.allocation_program import Phase, rounded
from evenhand.interventions.cells import Evidence
from evenhand.interventions.estimators import Estimates
from evenhand.interventions.problem import Problem
from evenhand.interventions.radius_rules import highest, worst_gap
from evenhand.interventions.recommendation import Ends, Recommendation, Status, never_given, of_more, report
from evenhand.interventions.trial_tables import Allocation, counts_of, evidence_of, plan_frame, validate_size
from evenhand.interventions.worlds import SimulatedTrial
from evenhand.kernels.arrays import Bools, Ints
from evenhand.parameters import Parameters, locked
from evenhand.policy.ask_tell import AskTell
from evenhand.policy.tickets import Tickets
from evenhand.policy.traits import Traits

OUTCOME_LOW = "outcome below the best fair one"
OUTCOME_NEAR = "better than the certified candidate by at most the slack, if at all"
GAP_HIGH = "gap above the tolerance"
"""Why candidates are dropped."""
EACH = "The intervals of the table are normal intervals, each by itself, and take the model's tables as exact."
UNTESTED = f"No confidence is stated: candidates are dropped by the paper's radii. {EACH}"


class Search(AskTell, Parameters):
    """The methods that all searches share; a subclass writes `phases()` and `judge()`.

    `judge(estimates, radius)` looks at estimates on the scale [0, 1] and calls `drop`, and may set `self.certified`
    (K,), the candidates last shown to be fair.
    """

    _tickets_live_in_log = True
    _traits = Traits(hands_out=Allocation, feedback="samples")
    constrained: ClassVar[bool] = True
    """Whether there is a tolerance."""
    certifies: ClassVar[bool] = False
    """Whether only a candidate that was shown to be fair is named, and none where none was."""
    _pooled = False
    """Whether estimates have mixture weights."""
    tested = False
    """Whether answers rest on tests at a stated level, `delta`."""
    delta: float | None = None
    example: ClassVar[dict[str, Any]] = {}
    """The arguments of the search that `examples` yields."""
    _noun = "search"
    _all: Evidence
    _recent: Evidence

    def __init__(
        self,
        problem: Problem,
        *,
        tolerance: float | None,
        budget: int,
        costs: Sequence[float] | Mapping[Any, float] | None = None,
        mean_cost: float | None = None,
        reuse: bool = True,
    ) -> None:
        super().__init__()
        if not isinstance(problem, Problem):
            raise ArgumentError(expected("problem", "a Problem", problem))
        if problem.model.precision:
            hint = "divide it into bands, with pandas.cut or --cut"
            measured = next(iter(problem.model.precision))
            raise ArgumentError(expected("problem", "an outcome of few states", measured, hint))
        if tolerance is not None or self.constrained:
            tolerance = real("tolerance", tolerance, above=0)
        if mean_cost is not None:
            mean_cost = real("mean_cost", mean_cost, low=0)
        self.problem, self.tolerance, self.costs, self.mean_cost = problem, tolerance, costs, mean_cost
        self.budget = whole("budget", budget, low=1, high=2**53)
        self.reuse = yes_or_no("reuse", reuse)
        self._costs = problem.read_costs(costs)
        papers = costs is None and not any(problem.own)
        usual = 1.0 / math.sqrt(self.budget) if papers else float(self._costs.mean())
        self._allowance = usual if mean_cost is None else mean_cost
        self._phases = self.phases()
        problem.check_support(gaps=self.constrained, pooled=self._pooled)
        if min(phase.size for phase in self._phases) < 1:
            hint = "raise it until each phase has a trial"
            raise ArgumentError(expected("budget", f"trials for {len(self._phases)} phases", budget, hint))
        for rows in {phase.rows for phase in self._phases}:
            problem.program(self._costs, self._allowance, rows)
        self._begin()

    def phases(self) -> list[Phase]:
        """Return the phases of the search."""
        raise NotImplementedError

    def _judge(self, estimates: Estimates, radius: float) -> None:
        """Drop candidates after a phase."""
        raise NotImplementedError

    # ------------------------------------------------------------------ the conversation

    @locked
    def ask(self) -> Allocation:
        """Return what to try next, as a ticket; its frame is empty when no trials are left.

        A phase is planned for the candidates that remain when it is asked for, so tell results before the next ask
        where possible.
        """
        phase, plan = min(self.handed_out + 1, len(self._phases)), self.plan()
        return self.allocation(self.tickets.hand_out(((phase, counts_of(plan)), phase, plan)))

    @locked
    def allocation(self, ticket: int) -> Allocation:
        """Return the allocation of an open ticket once more.

        Raises
        ------
        UnknownTicketError, ClosedTicketError
            If the ticket was never handed out, or was told or forgotten before.
        """
        number, ((phase, _), _, plan) = self.tickets.find(ticket)
        frame = plan_frame(self.problem, number, plan, self._costs)
        why = f"phase {phase} of {len(self._phases)}: trials that inform most about the candidates that remain"
        said = (why, "explored") if plan.any() else ("no trials are left", "other")
        self._last = "trials", said[0]
        return Allocation(number, phase, frame, plan.copy(), self.tickets.token, *said)

    @locked
    def tell(self, allocation: Allocation | int | None, samples: Any) -> None:
        """Record what was observed; there may be fewer trials than asked for, or none.

        Parameters
        ----------
        allocation : the allocation or its id; None for logged trials of the deployed candidate, before the first ask.
        samples : data frame, one row per trial: candidate, do(S) (empty or absent where S came as it was), the values
            of S and of every node in `problem.nodes`; a column count may say how often a row was seen, and a column
            ticket, as in the allocation, to which allocation a row belongs.

        Raises
        ------
        TableError
            If a column is missing, a value is unknown, a row is of another allocation, or there are more trials than
            the allocation asks for; the message names row and column.
        UnknownTicketError, ClosedTicketError, ForeignTicketError
            If the ticket was never handed out, was told or forgotten before, or is another search's; or if it is None
            after the first ask.
        """
        if allocation is None:
            self._take_log(samples, deployed=True)
            return
        ticket, (_, _, plan) = self.tickets.find(allocation)
        evidence = evidence_of(self.problem, samples, ticket=ticket)
        validate_size(self.problem, evidence, plan)
        del self.tickets.open[ticket]
        self.absorb(evidence)

    @locked
    def learn(self, log: Any) -> None:
        """Learn from logged trials of any candidates, all at once, before the first ask.

        Parameters
        ----------
        log : data frame as for `tell`; without a column `candidate` all trials are of the deployed candidate. The
            number of trials of each candidate must not have depended on their results.

        Raises
        ------
        TableError
            If a column is missing or a value is unknown; the message names row and column.
        UnknownTicketError
            If it is called after the first ask.
        """
        self._take_log(log, deployed=None)

    def _take_log(self, log: Any, deployed: bool | None) -> None:
        if self.tickets.next > 1:
            hint = "logged trials are told before the first ask"
            raise UnknownTicketError(expected("allocation", "an Allocation or its id", None, hint))
        evidence = evidence_of(self.problem, log, deployed)
        if self._all.trials.any() and all(map(np.array_equal, evidence, self._all)):
            raise TableError(
                expected("log", "trials that were not told before", "the same log again", "tell a log once")
            )
        self._all, self._recent = self._all + evidence, self._recent + evidence
        self.deliver(evidence, logged=True)

    @locked
    def forget(self, allocation: Allocation | int) -> None:
        """Close a ticket whose trials will never come; its phase ends without results."""
        del self.tickets.open[self.tickets.find(allocation)[0]]
        self.absorb(self._nothing)

    @locked
    def recommend(self, *, confidence: float | None = None) -> Recommendation:
        """Return the candidate that the evidence so far favours, and what is known about all.

        A search that tests says "certified" where the candidate was shown to be the best fair one, "none_is_fair" where
        every candidate was shown to be unfair, and "not_shown" otherwise, with the best guess of the estimates as the
        candidate, None without trials. Searches by the paper's rules say "certified" where the candidate was taken for
        fair in the last phase in which any was, "no_fair_candidate" where the search is over and none ever was, else
        "uncertified".

        Parameters
        ----------
        confidence : the level of the table's normal intervals, each by itself, which take the model's tables as exact.
            None: a search that tests gives the intervals of its tests, whose ends are each, at any time, wrong with a
            probability of at most delta / (K - 1 + P), see `CSR`; others 0.95.

        Raises
        ------
        ArgumentError
            If `confidence` is not in (0, 1).
        """
        if confidence is not None:
            confidence = real("confidence", confidence, above=0, below=1)
        number, status = self._choice()
        label = None if number is None else self.problem.candidates[number]
        outcomes, gaps = self.confidence_bounds(confidence)
        found = Recommendation(label, status, report(self.problem, outcomes, gaps, self.verdicts(), self.dropped))
        each = (EACH,) if self.tested and confidence is not None else ()
        found.notes = (*self.notes(), *each, *never_given(self.problem), *self.problem.notes)
        if status == "not_shown" and not self.problem.refuted:
            found.more = self._more()
            found.notes = (of_more(found.more, float(self.told.trials.sum()), "trials"), *found.notes)
        elif self.tested:
            found.confidence = 1.0 - (self.delta or 0.0)
        return found.over(self.problem)

    def _more(self) -> int | None:
        """Return about how many more trials would show the answer, None where that cannot be said."""
        return None

    def confidence_bounds(self, confidence: float | None) -> tuple[Ends, Ends]:
        """Return mixture estimates of outcomes and gaps with the ends of normal intervals, each at its own confidence,
        NaN where no trial is informative."""
        found, errors = self.problem.mixture(self._all), self.problem.mixture.errors(self._all)
        width = NormalDist().inv_cdf(0.5 + (confidence or 0.95) / 2.0)
        outcomes, gaps = (
            tuple(np.where(known, middle + side * error, np.nan) for side in (0.0, -width, width))
            for middle, error, known in zip(found[:2], errors, found[2:], strict=True)
        )
        return outcomes, gaps

    def notes(self) -> tuple[str, ...]:
        """Return what a user should know about an answer."""
        return (UNTESTED,)

    # ------------------------------------------------------------------ over sufficient statistics

    @locked
    def _begin(self) -> None:
        """Start anew."""
        k = len(self.problem.candidates)
        self.phase = self.handed_out = 0
        """How many phases are over, and how many were planned."""
        self.remaining, self.certified = np.ones(k, bool), np.zeros(k, bool)
        self.dropped: dict[int, tuple[int, str]] = {}
        self.over = False
        self.cost, self.trials = 0.0, 0
        """What was planned so far, in costs and in trials."""
        self._owed = np.zeros((1 + len(self.problem.groups), k))
        self._nothing = self.problem.cells.nothing()
        self._all = self._recent = self._used = self._nothing
        self.tickets = Tickets(self)

    @property
    def told(self) -> Evidence:
        """All that was told so far."""
        return self._all

    @property
    def finished(self) -> bool:
        """Whether no trials are left, because the phases or the search are over."""
        return self.over or self.phase == len(self._phases)

    @locked
    def plan(self) -> Ints:
        """Return the next phase's trials (1 + S, K): S as it comes in row 0, do(S = s) in row 1 + s.

        Shares are rounded so that the phase's size is spent exactly, fractions are carried to the next phase, and the
        cost never passes `mean_cost` a trial.
        """
        if self.over or self.handed_out == len(self._phases):
            return np.zeros_like(self._owed, dtype=np.int64)
        size, _, rows = self._phases[self.handed_out]
        self.handed_out += 1
        shares = self.problem.program(self._costs, self._allowance, rows).solve(self.remaining).shares
        exact = size * shares + self._owed
        allowed = self._allowance * sum(phase.size for phase in self._phases[: self.handed_out]) - self.cost
        plan = rounded(exact, size, np.broadcast_to(self._costs, exact.shape), allowed)
        self._owed = exact - plan
        self.cost += float((plan * self._costs).sum())
        self.trials += size
        return plan

    @locked
    def absorb(self, evidence: Evidence) -> None:
        """End a phase: learn from what was observed, and drop candidates.

        What comes after the end of the search only adds to the report.
        """
        self._all = self._all + evidence
        self.deliver(evidence, logged=False)
        if not self.finished:
            self._used = self._all if self.reuse else self._recent + evidence
            self._recent = self._nothing
            self.phase += 1
            self._judge(self.estimates(), 2.0 ** -self._phases[self.phase - 1].level)

    @locked
    def estimates(self) -> Estimates:
        """Return the estimates that the last phase was judged by, on the scale [0, 1]."""
        used = self._used if self.phase else self._recent
        level = self._phases[max(self.phase, 1) - 1].level
        return (self.problem.mixture if self._pooled else self.problem.clipped)(used, level)

    @locked
    def _choice(self) -> tuple[int | None, Status]:
        """Return the candidate's number, or None, and the status; see `recommend`."""
        if not self._all.trials.any():
            return None, "uncertified"
        estimates = self.estimates()
        shown = self.certified & self.remaining
        if not self.remaining.any() or (self.certifies and self.finished and not shown.any()):
            return None, "no_fair_candidate"
        if not shown.any() or not self.certifies:
            fair = self.remaining & (worst_gap(estimates) < self.limit)
            best = highest(estimates, fair if fair.any() and not self.finished else self.remaining)
        else:
            best = highest(estimates, shown)
        return best, "certified" if shown[best] else "uncertified"

    def deliver(self, evidence: Evidence, *, logged: bool) -> None:
        """Keep what a search that tests must know of a delivery."""

    def verdicts(self) -> list[str]:
        """Return what is said of each candidate (K,): "certified", "undecided" or "dropped"."""
        left = np.where(self.certified, "certified", "undecided")
        return [str(verdict) for verdict in np.where(self.remaining, left, "dropped")]

    def _facts(self) -> dict[str, Any]:
        phases = f"{self.phase} of {len(self._phases)}"
        return {"problem": self.problem, "phases over": phases, "trials": self.trials, "cost": self.cost}

    def _tables(self) -> list[Table]:
        labels = self.problem.candidates

        def row(k: int) -> list[Any]:
            phase, why = self.dropped.get(k, (None, ""))
            said = "dropped" if not self.remaining[k] else "fair" if self.certified[k] else "undecided"
            return [labels[k], said, phase, why]

        return [Table(("candidate", "so far", "dropped in phase", "because"), len(labels), row, "Candidates")]

    @property
    def limit(self) -> float:
        """The tolerance on the scale [0, 1]; infinite where there is none."""
        return math.inf if self.tolerance is None else self.tolerance / self.problem.scale

    def drop(self, candidates: Bools, why: str) -> None:
        """Drop those of the candidates (K,) that remain."""
        for number in np.flatnonzero(candidates & self.remaining):
            self.dropped[int(number)] = (self.phase, why)
        self.remaining = self.remaining & ~candidates

    @classmethod
    def _examples(cls) -> Iterator[tuple[Self, Any]]:
        """Yield pairs (search, world) for the checks."""
        for world in SimulatedTrial._examples():
            yield cls(world.problem, **cls.example), world

    # ------------------------------------------------------------------ copies and files

    @property
    def _has_history(self) -> bool:
        """Whether it has planned or learned anything since it was made."""
        return super()._has_history or self._all is not self._nothing

    def fresh(self) -> Self:
        """Return a search of the same configuration that remembers nothing."""
        return type(self)(**self.config())

    @locked
    def snapshot(self) -> dict[str, Any]:
        """Return everything that `restored` needs to continue exactly here."""
        names = ("phase", "handed_out", "remaining", "certified", "over", "cost", "trials", "_owed")
        return {
            "config": {**self.config(), "problem": self.problem.snapshot()},
            "state": {name: vars(self)[name] for name in names},
            "tickets": self.tickets.snapshot(),
            "dropped": [[number, *why] for number, why in self.dropped.items()],
            "evidence": [list(evidence) for evidence in (self._all, self._recent, self._used)],
        }

    @classmethod
    def restored(cls, snapshot: dict[str, Any]) -> Self:
        """Return the search that `snapshot` was taken of."""
        config = snapshot["config"]
        search = cls(**{**config, "problem": Problem.restored(config["problem"])})
        vars(search).update(snapshot["state"])
        search.tickets.restore_all(snapshot["tickets"])
        search.dropped = {number: (phase, why) for number, phase, why in snapshot["dropped"]}
        search._all, search._recent, search._used = (Evidence(*parts) for parts in snapshot["evidence"])
        return search

    def _ticket_fields(self, ticket: Allocation) -> tuple[Any, ...]:
        return ticket.phase, counts_of(ticket.plan)

    def _ticket_to_saved(self, remembered: Any) -> tuple[Any, ...]:
        _, phase, plan = remembered
        return phase, plan

    def _ticket_from_saved(self, phase: int, plan: Ints) -> tuple[Any, ...]:
        return (phase, counts_of(plan)), phase, plan

    def _ticket_from_log(self, decided: dict[str, Any], shown: dict[str, Any]) -> tuple[Any, ...]:
        return decided["phase"], np.array(decided["plan"], np.int64)

    def _identity(self) -> str:
        return f"{super()._identity()} {self.problem.snapshot()!r}"
