"""Experiments as data: permanent ids, settings, the paper's claims with tolerances, a verdict on each, figures.

An experiment is a function from settings to a `Report`, registered under an id such as "quotas/fig3". It has two sets
of settings, the paper's own and quick ones, and where the paper's take days on a processor, also reduced ones. Whether
a claim is reproduced is decided by a tolerance that is written down beside it before it runs.

A claim that holds or fails at any size, such as an exact identity, names no needs. Every other one names the least
settings at which its tolerance decides. In smaller settings its verdict is inconclusive, unless the numbers leave no
doubt: then the mean lies at least `CLEAR` standard errors from where the verdict would change.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from evenhand.errors import ArgumentError, RegistryError, expected
from evenhand.saving.provenance import in_a_line, in_a_picture, made_with
from evenhand.simulation import simulate

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure


CLEAR = 3.0
HOMES = ("quotas", "groups", "sampling", "similarity", "interventions")


@dataclass(frozen=True)
class Claim:
    """What a paper says: its words in ours, where it says so, what counts as reproduced, and which settings it needs.

    Attributes
    ----------
    needs : the least settings by name, such as {"rounds": 1_000_000}; of a setting with several values the largest
        counts. Empty where the claim can be judged at any size.
    kind : "ours" where the paper says it in another way, or not at all.
    """

    says: str
    where: str
    tolerance: str
    needs: Mapping[str, float] = field(default_factory=dict)
    kind: Literal["paper", "ours"] = "paper"

    def verdict(
        self, reproduced: bool, measured: str, settings: object = None, *, certainty: float = 0.0
    ) -> ClaimVerdict:
        """Return the verdict on this claim, with what was measured in words and numbers.

        Parameters
        ----------
        settings : what was run; a claim with needs requires them.
        certainty : standard errors between the measurement and where the verdict would turn, where they are known.
        """
        lacking = {name: least for name, least in self.needs.items() if _size(settings, name) < least}
        return ClaimVerdict(self, bool(reproduced), measured, {} if certainty >= CLEAR else lacking)


@dataclass(frozen=True)
class ClaimVerdict:
    """Whether a claim was reproduced, what was measured, and what the settings lack to judge it."""

    claim: Claim
    reproduced: bool
    measured: str
    lacking: Mapping[str, float] = field(default_factory=dict)

    @property
    def conclusive(self) -> bool:
        """Whether the settings were large enough to judge the claim."""
        return not self.lacking

    @property
    def word(self) -> Literal["reproduced", "not reproduced", "inconclusive"]:
        """The verdict in a word."""
        if not self.conclusive:
            return "inconclusive"
        return "reproduced" if self.reproduced else "not reproduced"

    @property
    def text(self) -> str:
        """The verdict for people: an inconclusive one says what it needs."""
        needs = ", ".join(f"{name} >= {least:,}" for name, least in self.lacking.items())
        return self.word if self.conclusive else f"{self.word}: needs {needs}"

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as plain data."""
        return {
            "claim": self.claim.says,
            "kind": self.claim.kind,
            "where": self.claim.where,
            "tolerance": self.claim.tolerance,
            "measured": self.measured,
            "verdict": self.word,
            "needs": dict(self.lacking),
        }


def certainty(slack: ArrayLike, error: ArrayLike, runs: int) -> float:
    """Return how certain the sign of the least slack is, in standard errors of a normal law.

    Parameters
    ----------
    slack : by how much each tolerance was met, below zero where it was not; means over the runs.
    error : the standard error of each.
    runs : the number of runs; with few of them a standard error is itself uncertain (Student's law).

    Examples
    --------
    >>> round(certainty([0.4, 0.9], [0.1, 0.1], 100), 1)
    3.8
    >>> round(certainty([0.4, 0.9], [0.1, 0.1], 3), 1)
    1.9
    """
    from scipy.stats import norm, t

    with np.errstate(divide="ignore", invalid="ignore"):
        least = float(np.min(np.asarray(slack, dtype=np.float64) / np.asarray(error, dtype=np.float64)))
    return float(norm.isf(t.sf(abs(least), runs - 1))) if runs > 1 else 0.0


def critical_value(runs: int) -> float:
    """Return how many standard errors a mean over `runs` must exceed to count: Student's 97.5 % quantile, at least two.

    Examples
    --------
    >>> [round(critical_value(runs), 2) for runs in (3, 10, 500)]
    [4.3, 2.26, 2.0]
    """
    from scipy.stats import t

    return max(2.0, float(t.ppf(0.975, runs - 1))) if runs > 1 else math.inf


def growth(sizes: ArrayLike, values: ArrayLike) -> tuple[float, float]:
    """Return the exponent with which values grow, and how far its 95 % interval reaches to either side.

    Parameters
    ----------
    sizes : such as the numbers of rounds (n_sizes,).
    values : above zero, (n_runs, n_sizes); a line is fitted to the logarithms of each run.

    Examples
    --------
    >>> exponent, wide = growth([10, 100, 1000], [[2, 20, 200], [1, 100, 10_000], [3, 90, 2_700]])
    >>> round(exponent, 2), round(wide, 2)
    (1.49, 1.24)
    """
    slopes = np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(values)).T, 1)[0]
    wide = critical_value(slopes.size) * slopes.std(ddof=1) / math.sqrt(slopes.size) if slopes.size > 1 else math.inf
    return float(slopes.mean()), float(wide)


def slower(claim: Claim, slope: float, wide: float, limit: float, where: str, settings: object) -> ClaimVerdict:
    """Return the verdict that a slope is at most a limit: inconclusive where its interval, `wide` to either side, holds
    the limit, which four times the runs would halve."""
    (runs,) = {"trials", "replications"} & {*claim.needs}
    if abs(slope - limit) <= wide:
        claim = replace(claim, needs={**claim.needs, runs: 4 * max(claim.needs[runs], _size(settings, runs))})
    return claim.verdict(slope < limit, f"{slope:.3f} +- {wide:.3f}, limit {limit:.3f} ({where})", settings)


def _size(settings: object, name: str) -> float:
    value = settings[name] if isinstance(settings, Mapping) else getattr(settings, name)
    return max(value) if isinstance(value, (tuple, list)) else value


@dataclass(frozen=True)
class Runner:
    """How to run, apart from the settings: none of it changes a number."""

    jobs: int = -1
    progress: bool = False
    store: Path | None = None
    """A folder for what is finished, so that an interrupted run goes on where it stopped."""
    finished_only: bool = False
    """Report the finished trials of an interrupted run, and run nothing."""

    def simulate(
        self,
        policies: Any,
        world: Any,
        settings: Any,
        *,
        rounds: int | None = None,
        checkpoints: int | Sequence[int] = 200,
        spacing: Literal["even", "log"] = "even",
    ) -> xr.Dataset:
        """Return the history of policies in a world, over the rounds and replications of the settings, by their seed.

        Parameters
        ----------
        rounds : how many instead of those of the settings.
        checkpoints, spacing : as for `eh.simulate`.
        """
        what = {"rounds": rounds or settings.rounds, "replications": settings.replications, "seed": settings.seed}
        how: dict[str, Any] = {"jobs": self.jobs, "progress": self.progress, "store": self.store}
        return simulate(policies, world, **what, **how, checkpoints=checkpoints, spacing=spacing)


@dataclass
class Report:
    """What an experiment found: data by name (`xarray.Dataset` or `pandas.DataFrame`), verdicts, figures by name with
    the table of all that each draws, remarks."""

    data: dict[str, Any] = field(default_factory=dict)
    verdicts: list[ClaimVerdict] = field(default_factory=list)
    figures: dict[str, tuple[Figure, pd.DataFrame]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Experiment:
    """One experiment: its id, title, function and settings."""

    id: str
    title: str
    function: Callable[[Any, Runner], Report]
    full: Any
    quick: Any
    reduced: Any = None
    """Settings for hours on a processor, where the paper's take days."""
    size: str = "full"
    """What `full` is called: "reduced" or "quick" once those settings have taken its place."""

    def chosen(self, *, quick: bool = False, reduced: bool = False, **changes: object) -> Self:
        """Return the experiment with other settings in the place of the full ones.

        Raises
        ------
        ArgumentError
            If there are no reduced settings, both sizes are asked for, or there is no setting of a name in `changes`.
        """
        if quick and reduced:
            raise ArgumentError(expected("--reduced", "one size", "--quick as well"))
        if reduced and self.reduced is None:
            raise ArgumentError(expected("--reduced", "an experiment with reduced settings", self.id, "use --quick"))
        size = "quick" if quick else "reduced" if reduced else "full"
        settings = getattr(self, size)
        for name, value in changes.items():
            if not is_dataclass(settings) or not isinstance(vars(settings).get(name), type(value)):
                able = ", ".join(one.id for one in catalogue() if isinstance(one.settings.get(name), type(value)))
                what = f"an experiment with this setting ({able})"
                raise ArgumentError(expected(f"--{name}", what, self.id, "leave it out"))
        return replace(self, full=replace(settings, **changes) if changes else settings, size=size)

    @property
    def settings(self) -> dict[str, Any]:
        """What `full` says, by name."""
        return self.full if isinstance(self.full, dict) else vars(self.full)

    def run(self, runner: Runner | None = None) -> Report:
        """Run with the full settings, or those that were chosen in their place."""
        return self.function(self.full, runner or Runner())

    def write(self, report: Report, folder: Path, formats: Sequence[str] = ("png",)) -> None:
        """Write the report's data, figures with their tables, verdicts (JSON) and text (Markdown) into a folder."""
        import xarray as xr

        folder.mkdir(parents=True, exist_ok=True)
        about = made_with()
        made = self.id, f"{self.size} settings: {' '.join(f'{name}={value}' for name, value in self.settings.items())}"
        origin = in_a_line(about, *made)
        for name, data in (report.data | {name: table for name, (_, table) in report.figures.items()}).items():
            if isinstance(data, (xr.Dataset, xr.DataArray)):
                said = about | {"experiment": self.id, "settings": str(self.settings)}
                data.assign_attrs(said).to_netcdf(folder / f"{name}.nc", engine="h5netcdf")
            else:
                data.assign(made_with=origin).to_csv(folder / f"{name}.csv", index=False)
        for (name, (figure, _)), kind in product(report.figures.items(), formats):
            figure.savefig(folder / f"{name}.{kind}", dpi=150, metadata=in_a_picture(kind, *made))
        body = {
            "id": self.id,
            "title": self.title,
            "settings": self.settings,
            "verdicts": [verdict.as_dict() for verdict in report.verdicts],
            "remarks": report.remarks,
            "made_with": about,
        }
        (folder / "report.json").write_text(json.dumps(body, indent=2, default=str) + "\n")
        with_what = ", ".join(f"{name} {value}" for name, value in about.items())
        drawn = [f"![{name}]({name}.{formats[0]})" for name in report.figures]
        (folder / "report.md").write_text("\n".join([self.text(report), *drawn, "", f"Made with {with_what}.", ""]))

    def text(self, report: Report) -> str:
        """Return the report as Markdown."""
        units = {} if isinstance(self.full, dict) else {one.name: one.metadata.get("unit") for one in fields(self.full)}
        lines = [f"# {self.id}: {self.title}", "", f"Settings ({self.size}):", ""]
        for name, value in self.settings.items():
            unit = f" ({units[name]})" if units.get(name) else ""
            lines.append(f"- {name}{unit}: {value}")
        lines += [
            "",
            "| claim | kind | where | counts as reproduced if | measured | verdict |",
            "|---|---|---|---|---|---|",
        ]
        for verdict in report.verdicts:
            claim = verdict.claim
            cells = (claim.says, claim.kind, claim.where, claim.tolerance, verdict.measured, verdict.text)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += ["", *(f"- {remark}" for remark in report.remarks), ""] if report.remarks else [""]
        return "\n".join(lines)


_experiments: dict[str, Experiment] = {}


def experiment(
    id: str, title: str, *, full: object, quick: object, reduced: object = None
) -> Callable[[Callable[[Any, Runner], Report]], Callable[[Any, Runner], Report]]:
    """Enter the decorated function `(settings, runner) -> Report` under a permanent id."""

    def enter(function: Callable[[Any, Runner], Report]) -> Callable[[Any, Runner], Report]:
        _experiments[id] = Experiment(id, title, function, full, quick, reduced)
        return function

    return enter


def catalogue(prefix: str = "") -> list[Experiment]:
    """Return all experiments whose id begins so, sorted by id."""
    for home in HOMES:
        importlib.import_module(f"evenhand.experiments.{home}")
    return [_experiments[id] for id in sorted(_experiments) if id.startswith(prefix)]


def find(id: str) -> list[Experiment]:
    """Return the experiment of that id, or all of a paper ("quotas").

    Raises
    ------
    RegistryError
        If there is none; the ids are listed.
    """
    exact = [e for e in catalogue() if e.id == id]
    found = exact or catalogue(id.rstrip("/") + "/")
    if not found:
        raise RegistryError(f"no experiment is named {id!r}; there are: {', '.join(e.id for e in catalogue())}")
    return found
