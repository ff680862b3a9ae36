"""What the image experiments show: verdicts, Table 1, and pictures of the mixture beside the worst risk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.experiments.claims import Claim, Verdict
from evenhand.experiments.framework import Report
from evenhand.experiments.sampling.tables import (
    ADAPTIVE,
    BEATS_UNIFORM,
    BEYOND,
    UNCURATED_LAST,
    at_last,
    gain_verdict,
    table_1,
)
from evenhand.experiments.sampling.trials import Images, worst
from evenhand.plots.sampling import plot_shares, plot_worst_risk
from evenhand.plots.style import figure

if TYPE_CHECKING:
    import pandas as pd

UNFINISHED = "no finished trial yet"
NEEDS = {"rounds": 200, "trials": 3}
"""A gain is judged by Student's law, so three trials suffice for a verdict: it then needs 4.3 standard errors."""
LATE = 0.3
"""The share of the rounds after which schemes are compared: before it, all of them are in the safe start's reach."""
WHERE = "Figures 4-6, 11, 13, 14"
AHEAD = Claim(
    "A_opt is ahead of Uniform on the worst-off group while it collects",
    WHERE,
    f"mean gain over Uniform at rounds 60 to 200 (30 % to the end) above {BEYOND}",
    NEEDS,
)
MIXTURE = Claim(
    "A_opt draws most from the group that is worst off under Uniform",
    "Figure 4",
    "at the last round of every trial, that group has the largest share of the training rows",
    NEEDS,
)
LEVEL = Claim(
    "A_opt reaches an accuracy of 0.936 on the worst-off pair", "Table 1, FashionMNIST", "within 0.01 of it", NEEDS
)


def image_report(frame: pd.DataFrame, settings: Images) -> Report:
    """Return the verdicts, tables and pictures of the histories of all schemes and trials."""
    drawn, (shares, risks) = figure(11.0, 3.8, columns=2)
    plot_shares(frame, scheme="A_opt", ax=shares)
    plot_worst_risk(frame, ax=risks)
    ends = table_1(frame.assign(final_risk=frame["test_risk"])).drop(
        columns=["accuracy_after_refit", "accuracy_after_refit_deviation"]
    )
    report = Report(
        data={"history": frame, "table_1": ends, "mixture": _mixture(frame)}, figures={"mixture_and_risk": drawn}
    )
    for name in (*ADAPTIVE, "A_opt+"):
        claim = Claim(BEATS_UNIFORM.says.format(name), "Table 1", BEATS_UNIFORM.tolerance, NEEDS)
        report.verdicts.append(_against_uniform(claim, frame, name, at_last, settings))
    claim = Claim(UNCURATED_LAST.says, "Table 1", UNCURATED_LAST.tolerance, NEEDS)
    report.verdicts.append(_against_uniform(claim, frame, "Uncurated", at_last, settings, sign=-1))
    report.verdicts.append(_against_uniform(AHEAD, frame, "A_opt", _late, settings))
    report.verdicts.append(_mixture_verdict(frame, settings))
    if settings.data == "fashion-mnist":
        ends = at_last(frame, "A_opt")
        reached = f"{ends.mean():.4f} in {len(ends)} trial{'s' * (len(ends) > 1)}" if len(ends) else UNFINISHED
        trials = replace(settings, trials=len(ends))
        report.verdicts.append(LEVEL.verdict(abs(ends.mean() - 0.936) <= 0.01, reached, trials))
    if settings.trials == 1:
        report.remarks.append("A single trial has no standard error: it shows that the experiment runs.")
    return report


def _against_uniform(
    claim: Claim, frame: pd.DataFrame, name: str, value: Callable[[pd.DataFrame, str], Any], settings: Images,
    *, sign: int = 1,
) -> Verdict:  # fmt: skip
    """Compare a scheme with Uniform on the trials that both have finished."""
    first, second = value(frame, name), value(frame, "Uniform")
    common = first.index.intersection(second.index)
    trials = replace(settings, trials=len(common))
    if not len(common):
        return claim.verdict(False, UNFINISHED, trials)
    return gain_verdict(claim, first[common], second[common], trials, sign=sign)


def _late(frame: pd.DataFrame, scheme: str) -> Any:
    """Return the worst-off group's mean test accuracy over the later rounds, by trial."""
    mine = worst(frame[frame["scheme"] == scheme])
    return 1 - mine[mine["round"] >= LATE * mine["round"].max()].groupby("trial")["test_risk"].mean()


def _mixture(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each group's share of the training rows and its test risk at the end of each scheme, means over trials."""
    last = frame[frame["round"] == frame.groupby(["scheme", "trial"])["round"].transform("max")]
    return last.groupby(["scheme", "group"], sort=False)[["share", "test_risk"]].mean().reset_index()


def _mixture_verdict(frame: pd.DataFrame, settings: Images) -> Verdict:
    last = frame[frame["round"] == frame.groupby(["scheme", "trial"])["round"].transform("max")]
    mine, equal = (last[last["scheme"] == name].set_index("group") for name in ("A_opt", "Uniform"))
    common = sorted(set(mine["trial"]) & set(equal["trial"]))
    hits = [
        mine.loc[mine["trial"] == trial, "share"].idxmax() == equal.loc[equal["trial"] == trial, "test_risk"].idxmax()
        for trial in common
    ]
    shares = mine.groupby("group")["share"].mean().sort_values(ascending=False)
    said = ", ".join(f"{group} {share:.2f}" for group, share in shares.items())
    trials = replace(settings, trials=len(common))
    return MIXTURE.verdict(all(hits), f"in {sum(hits)} of {len(hits)} trials; {said or UNFINISHED}", trials)
