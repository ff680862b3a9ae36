"""Open Bandit: the value of Bernoulli Thompson sampling from the random policy's log, against its own clicks.

Candidate: the shares of the items at each position in the log of Thompson sampling. Both logs are of the same week.

Source: Y. Saito, S. Aihara, M. Matsutani, Y. Narita, "Open Bandit Dataset and Pipeline" (2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from evenhand.datasets.open_bandit import fetch_open_bandit
from evenhand.evaluation import Evaluation, evaluate
from evenhand.evaluation.floors import shares_in
from evenhand.experiments.framework import Claim, Report, Runner, experiment

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["open_bandit"]

COLUMNS: dict[str, Any] = {"arm": "item_id", "reward": "click", "propensity": "propensity_score"}
NEAR = Claim(
    "The value from the random log is that of Thompson sampling's own clicks",
    "section on off-policy evaluation",
    "for ips, snips and dr, within 1.96 standard errors of both logs together",
)
INSIDE = Claim(
    "The interval that may be looked at any time contains Thompson sampling's own clicks",
    "ours",
    "for ips, snips, dr and adaptive, level 0.95",
)
BACK = Claim(
    "Thompson sampling's log can hardly say anything of the random policy",
    "ours",
    "fewer than a tenth of the rows are effective, and the interval is over five times as wide as from the random log",
)


@dataclass(frozen=True)
class Settings:
    """The campaigns."""

    campaigns: tuple[str, ...]


@experiment(
    "evaluation/open-bandit",
    "Thompson sampling from the random log, against its own clicks",
    full=Settings(("men", "women")),
    quick=Settings(("men",)),
)
def open_bandit(settings: Settings, runner: Runner) -> Report:
    """Evaluate each campaign in both directions."""
    import pandas as pd

    rows, near, inside, back, said = [], True, True, True, {"near": "", "inside": "", "back": ""}
    figures = {}
    for campaign in settings.campaigns:
        tried, own = fetch_open_bandit("random", cast(Any, campaign)), fetch_open_bandit("bts", cast(Any, campaign))
        items = sorted(tried["item_id"].unique().tolist())
        truth, error = float(own["click"].mean()), float(own["click"].std() / len(own) ** 0.5)
        candidate = shares_in(own, "item_id", "position", items)
        found = {name: _value(tried, candidate, name) for name in ("ips", "snips", "dr", "adaptive")}
        for name, one in found.items():
            normal = _value(tried, candidate, name, anytime=False)
            wide = 1.96 * ((normal.high - normal.low) ** 2 / 3.92**2 + error**2) ** 0.5
            near &= name == "adaptive" or abs(one.value - truth) <= wide
            inside &= one.low <= truth <= one.high
            row = {"campaign": campaign, "estimator": name, "value": one.value, "low": one.low, "high": one.high}
            rows.append(row | {"normal_low": normal.low, "effective_rounds": one.effective_rounds, "truth": truth})
        uniform = dict.fromkeys(items, 1 / len(items))
        other = _value(own, uniform, "ips")
        ips = found["ips"]
        back &= other.effective_rounds < len(own) / 10 and other.high - other.low > 5 * (ips.high - ips.low)
        said["near"] += f"{campaign}: {ips.value:.4f}, {found['dr'].value:.4f} (dr) for {truth:.4f}. "
        said["inside"] += f"{campaign}: [{ips.low:.4f}, {ips.high:.4f}] (ips) around {truth:.4f}. "
        said["back"] += f"{campaign}: {other.effective_rounds:.0f} rows, [{other.low:.4f}, {other.high:.4f}]. "
        figures[campaign] = _draw(found["dr"], truth, campaign)
    verdicts = [
        NEAR.verdict(near, said["near"].strip()),
        INSIDE.verdict(inside, said["inside"].strip()),
        BACK.verdict(back, said["back"].strip()),
    ]
    return Report({"values": pd.DataFrame(rows)}, verdicts, figures)


def _value(log: pd.DataFrame, policy: Any, estimator: Any, anytime: bool = True) -> Evaluation:
    return cast(Evaluation, evaluate(log, policy, **COLUMNS, position="position", estimator=estimator, anytime=anytime))


def _draw(found: Evaluation, truth: float, campaign: str) -> Any:
    from evenhand.plots import plot_evaluation
    from evenhand.plots.style import figure, place_legend

    drawn, axes = figure()
    plot_evaluation(found, ax=axes)
    axes.axhline(truth, color="black", linewidth=1.0, label=f"Thompson sampling's own clicks: {truth:.4g}")
    axes.set_title(f"Open Bandit, {campaign}: Thompson sampling from the random log", loc="left", fontsize=10.5)
    place_legend(axes)
    return drawn
