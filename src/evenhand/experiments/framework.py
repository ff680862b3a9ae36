"""Experiments as data: permanent ids, settings, the paper's claims with tolerances, a verdict on each, figures.

An experiment is a function from settings to a `Report`, entered under an id such as "quotas/fig3". It has two settings,
the paper's own and a quick one, and where the paper's take days on a processor, reduced ones. Whether a claim is
reproduced is decided by a tolerance that is written down beside it before it runs; a claim that the chosen settings
are too small for is inconclusive there.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from evenhand.errors import ArgumentError, RegistryError, wanted
from evenhand.experiments.claims import Verdict
from evenhand.simulation import simulate

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

HOMES = ("quotas", "groups", "sampling", "similarity", "interventions")


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
        return simulate(
            policies,
            world,
            rounds=settings.rounds if rounds is None else rounds,
            replications=settings.replications,
            seed=settings.seed,
            checkpoints=checkpoints,
            spacing=spacing,
            jobs=self.jobs,
            progress=self.progress,
            store=self.store,
        )


@dataclass
class Report:
    """What an experiment found: data by name (`xarray.Dataset` or `pandas.DataFrame`), verdicts, figures by name,
    remarks."""

    data: dict[str, Any] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    figures: dict[str, Figure] = field(default_factory=dict)
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
    """What `full` is called: "reduced" once those settings have taken its place."""

    def chosen(self, *, quick: bool = False, reduced: bool = False, **changes: Any) -> Self:
        """Return the experiment with other settings in the place of the full ones.

        Raises
        ------
        ArgumentError
            If there are no reduced settings, both sizes are asked for, or there is no setting of a name in `changes`.
        """
        if quick and reduced:
            raise ArgumentError(wanted("--reduced", "one size", "--quick as well"))
        if reduced and self.reduced is None:
            raise ArgumentError(wanted("--reduced", "an experiment with reduced settings", self.id, "use --quick"))
        settings = self.quick if quick else self.reduced if reduced else self.full
        for name, value in changes.items():
            if not is_dataclass(settings) or not isinstance(getattr(settings, name, None), type(value)):
                raise ArgumentError(wanted(f"--{name}", "an experiment with this setting", self.id, "leave it out"))
        size = "quick" if quick else "reduced" if reduced else "full"
        return replace(self, full=replace(settings, **changes) if changes else settings, size=size)

    def run(self, *, quick: bool = False, runner: Runner | None = None) -> Report:
        """Run with the paper's settings, or the quick ones."""
        return self.function(self.quick if quick else self.full, runner or Runner())

    def write(self, report: Report, folder: Path, *, quick: bool) -> None:
        """Write the report's data, figures, verdicts (JSON) and text (Markdown) into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in report.data.items():
            if hasattr(data, "to_netcdf"):
                data.to_netcdf(folder / f"{name}.nc", engine="h5netcdf")
            else:
                data.to_csv(folder / f"{name}.csv", index=False)
        for name, figure in report.figures.items():
            figure.savefig(folder / f"{name}.png", dpi=150)
        body = {
            "id": self.id,
            "title": self.title,
            "settings": self.quick if quick else self.full,
            "verdicts": [verdict.as_dict() for verdict in report.verdicts],
            "remarks": report.remarks,
        }
        (folder / "report.json").write_text(json.dumps(body, indent=2, default=str) + "\n")
        (folder / "report.md").write_text(self.text(report, quick=quick))

    def text(self, report: Report, *, quick: bool) -> str:
        """Return the report as Markdown."""
        settings = self.quick if quick else self.full
        shown = settings.items() if isinstance(settings, dict) else vars(settings).items()
        lines = [f"# {self.id}: {self.title}", "", f"Settings ({'quick' if quick else self.size}):", ""]
        lines += [f"- {name}: {value}" for name, value in shown]
        lines += ["", "| claim | where | counts as reproduced if | measured | verdict |", "|---|---|---|---|---|"]
        for verdict in report.verdicts:
            claim = verdict.claim
            cells = (claim.says, claim.where, claim.tolerance, verdict.measured, verdict.text)
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines += ["", *(f"- {remark}" for remark in report.remarks), ""] if report.remarks else [""]
        lines += [f"![{name}]({name}.png)" for name in report.figures]
        return "\n".join(lines) + "\n"


_experiments: dict[str, Experiment] = {}


def experiment(
    id: str, title: str, *, full: Any, quick: Any, reduced: Any = None
) -> Callable[[Callable[[Any, Runner], Report]], Callable[[Any, Runner], Report]]:
    """Enter the decorated function `(settings, runner) -> Report` under a permanent id."""

    def enter(function: Callable[[Any, Runner], Report]) -> Callable[[Any, Runner], Report]:
        _experiments[id] = Experiment(id, title, function, full, quick, reduced)
        return function

    return enter


def catalogue(prefix: str = "") -> list[Experiment]:
    """Return all experiments whose id begins so, sorted by id."""
    for home in HOMES:
        if importlib.util.find_spec(f"evenhand.experiments.{home}") is not None:
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
