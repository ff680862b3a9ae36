"""German Credit, from the table to the answer; every number of the page is computed again here."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

from tests.tasks.pages import DOCS, follow, run_scripts, typed
from tests.tasks.test_pay import first, koopman, oaxaca

SHARES = np.array([0.99, 0.9, 0.7, *(2.0**-j for j in range(1, 18))])
"""Of the wealth, that are bet against a rate at any number of looks."""
NUMBERS = ["age", "amount", "duration"]


def design(frame, known):
    """An intercept, numbers, and a column for each purpose but the first that 1 % of the known loans have, and one for
    all others; of which both sexes have had several."""
    often = known["purpose"].value_counts()
    often = sorted(often.index[often >= 0.01 * len(known)])
    rare = ~known["purpose"].isin(often)
    columns = [(known["purpose"] == name, frame["purpose"] == name) for name in often[1:]]
    columns += [(rare, ~frame["purpose"].isin(often))]
    women = known["sex"] == "women"
    kept = [new for old, new in columns if min((old & women).sum(), (old & ~women).sum()) > 1]
    return np.column_stack([np.ones(len(frame)), frame[NUMBERS], *kept]).astype(float)


def evidence(one, other, ratio):
    """The logarithm of the e-value against a rate of at most so many times another, at the most doubtful rate."""

    def wealth(hits, rows, means):
        means = np.clip(means, 1e-12, 1.0)[:, None]
        logs = hits * np.log1p(SHARES * (1 / means - 1)) + (rows - hits) * np.log1p(-SHARES)
        return logsumexp(logs, axis=1) - np.log(len(SHARES))

    q = np.linspace(1e-4, 1 - 1e-4, 5001)
    return (wealth(*one, ratio * q) + wealth(other[1] - other[0], other[1], 1 - q)).min()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.data
def test_loans(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    run_scripts("tasks/loans.md", tmp_path)
    follow("tasks/loans.md", tmp_path)
    page = " ".join((DOCS / "tasks" / "loans.md").read_text().split())
    loans, earlier = pd.read_csv(tmp_path / "loans.csv"), pd.read_csv(tmp_path / "earlier.csv")
    women, repaid = (loans["sex"] == "women").to_numpy(), loans["repaid"].to_numpy(float)
    assert f"{len(loans):,} loans, {women.sum()} of them to women" in page
    assert f"--set noise_scale={repaid.std():.2f}" in page

    d, gap, low, high, _, _ = oaxaca(design(loans, loans), repaid, women, np.arange(len(loans)))
    assert f"Mean repaid is {-d:.4f} lower in group 'women' than in group 'men'." in page
    assert f"By age, amount, duration and purpose alone it would be {d - gap:.4f} higher, as with" in page
    assert f"it is {-gap:.4f} lower (95 % interval: {-high:.3f} to {-low:.3f} lower, more than chance" in page

    rows = np.array([women.sum(), (~women).sum()])
    hits = np.array([repaid[women].sum(), repaid[~women].sum()])
    rate, other = hits / rows
    said = f"a rate of {rate:.1%} ({hits[0]:.0f} of {rows[0]}), {rate / other:.3f} of that of group 'men' ({other:.1%})"
    assert said in page
    low, high = koopman(hits, rows)
    assert f"95 % interval of that ratio is {low:.3f} to {high:.3f}, so it is shown not to be below 0.8." in page
    mine, theirs = zip(hits, rows, strict=True)
    low = brentq(lambda ratio: evidence(mine, theirs, ratio) - np.log(40), 0.1, 1.0)
    assert evidence(theirs, mine, 1.0) < np.log(40), "equal rates are not refuted"
    assert f"again and again, the interval is {low:.3f} to 1.000, and all" in page
    both = [evidence(mine, theirs, 1 / 0.8), evidence(theirs, mine, 1 / 0.8)]
    assert np.exp(both).mean() < 20, "do not show that some ratio is below 0.8"

    today = pd.read_csv(tmp_path / "loans.csv").tail(100)
    women, repaid = (earlier["sex"] == "women").to_numpy(), earlier["repaid"].to_numpy(float)
    x, new = design(earlier, earlier), design(today, earlier)
    _, gap, low, high, _, _ = oaxaca(x, repaid, women, np.arange(len(earlier)))
    own, others = (np.linalg.lstsq(x[side], repaid[side], rcond=None)[0] for side in (women, ~women))
    mine = (today["sex"] == "women").to_numpy()
    record, corrected = np.where(mine, new @ own, new @ others), new @ others
    recorded, *sets = (
        first(one, 20) for one in (record, *(corrected + mine * (gap - end) for end in (gap, low, high)))
    )
    enter, leave = (", ".join(str(row + 1) for row in sorted(s)) for s in (sets[0] - recorded, recorded - sets[0]))
    assert (
        f"{mine[list(recorded)].sum()} are in group 'women'. Its records are on average {-gap:.4f} lower than" in page
    )
    assert f"taken out of them, {mine[list(sets[0])].sum()} are. Enter: rows {enter}. Leave: rows {leave}." in page
    costs = [
        record[sorted(recorded)].mean() - record[sorted(first(corrected + mine * (gap - end), 20))].mean()
        for end in (gap, *np.linspace(low, high, 101))
    ]
    assert f"falls by {costs[0]:.4f} ({min(costs):.4f} to {max(costs):.4f} over the interval of the gap)" in page
    counts = [len(one - recorded) for one in sets[1:]]
    assert f"if its records are {-low:.3f} lower, {counts[0]} enter; if {-high:.3f} lower, {counts[1]}." in page

    again = "evenhand simulate --data loans.csv --group sex --reward repaid --sensitive women --rounds 300 "
    again += "--features age,amount,duration,purpose --replications 5 --seed 1 -p two-group-top-interval --out two"
    typed(again, tmp_path, {**os.environ})
    half, most = (pd.read_csv(tmp_path / out / "arms.csv", index_col="arm").loc["women"] for out in ("out", "two"))
    assert 0.45 < half["group-fair-top-interval"] < 0.55, "about half"
    assert 0.75 < most["two-group-top-interval"] < 0.85, "about 80 %"
