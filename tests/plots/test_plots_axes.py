"""Every picture: where it is drawn, what is returned, what is refused, and that pyplot keeps no figures."""

import importlib
import inspect
import pkgutil

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import evenhand as eh
from evenhand import plots
from evenhand.errors import ArgumentError
from evenhand.interventions import CSR, SimulatedTrial
from evenhand.plots import evaluation, groups, interventions, means, quotas, sampling, similarity, studies

TRIAL = next(SimulatedTrial._examples()).problem
COLLECTED = pd.DataFrame(
    [
        {"scheme": "one", "trial": t, "round": r, "group": g, "share": 0.5, "risk": 0.1 * r, "test_risk": 0.1 * r}
        for t in (0, 1)
        for r in (1, 2, 3)
        for g in ("u", "v")
    ]
)
BIAS = pd.DataFrame([("a", "x", 0.1, 0.0, 0.2, "r")], columns=["group", "feature", "bias", "low", "high", "reference"])
MEANS = pd.DataFrame({"round": [1, 2], "scheme": "a", "mean": [0.2, 0.1], "low": 0.0, "high": 0.3, "trials": 5})
LABELS = {"of": "trials", "title": "t", "across": "x", "up": "y"}


@pytest.fixture(scope="module")
def made(history):
    """What the pictures show: a history of quotas and of groups, an evaluation, a recommendation."""
    search, trial = CSR(TRIAL, tolerance=0.1, budget=500, pooled=True), SimulatedTrial(TRIAL)
    trial.reset(1)
    allocation = search.ask()
    search.tell(allocation, *trial.respond(allocation))
    log = pd.DataFrame({"arm": list("abab"), "reward": [0, 1, 1, 0], "p": 0.5})
    grouped = history.assign(group_share=(("policy", "replication", "round", "group"), np.full((3, 3, 20, 2), 0.5)))
    return {
        "history": history,
        "value": eh.evaluate(log, {"a": 0.3, "b": 0.7}, arm="arm", reward="reward", propensity="p"),
        "effects": eh.effects(log.assign(p_a=0.5, p_b=0.5), control="a", propensity="p"),
        "parity": eh.audit.parity(log, group="arm", value="p"),
        "finding": eh.audit.promise(log, arm="arm", shares=0.5),
        "found": search.recommend(),
        "sensitivity": TRIAL.sensitivity(tolerance=0.1),
        "grouped": grouped.assign_coords(group=["x", "y"], arm_share=("group", [0.5, 0.5])),
        "counts": np.full((2, 2), 0.5),
    }


ONE = {
    evaluation.plot_evaluation: lambda made, **on: plots.plot_evaluation(made["value"], **on),
    evaluation.plot_overlap: lambda made, **on: plots.plot_overlap(made["value"], **on),
    groups.plot_bias: lambda made, **on: plots.plot_bias(BIAS, **on),
    groups.plot_group_share: lambda made, **on: plots.plot_group_share(made["grouped"], **on),
    groups.plot_parity: lambda made, **on: plots.plot_parity(made["parity"], **on),
    interventions.plot_gaps: lambda made, **on: plots.plot_gaps(made["found"], tolerance=0.1, **on),
    interventions.plot_outcomes: lambda made, **on: plots.plot_outcomes(made["found"], **on),
    means.plot_means: lambda made, **on: means.plot_means(MEANS, "round", "scheme", **LABELS, **on),
    quotas.plot_audit: lambda made, **on: plots.plot_audit(made["finding"], **on),
    quotas.plot_cost: lambda made, **on: plots.plot_cost(made["history"], **on),
    quotas.plot_regret: lambda made, **on: plots.plot_regret(made["history"], **on),
    quotas.plot_shares: lambda made, **on: plots.plot_shares(made["history"], **on),
    quotas.plot_shortfall: lambda made, **on: plots.plot_shortfall(made["history"], **on),
    similarity.plot_chances: lambda made, **on: similarity.plot_chances(np.arange(3.0), np.arange(3) / 9, "age", **on),
    studies.plot_course: lambda made, **on: studies.plot_course([1, 2], made["counts"], ["a", "b"], **on),
    studies.plot_owed: lambda made, **on: studies.plot_owed([1, 2], made["counts"], ["a", "b"], 1.0, **on),
}
SEVERAL = {
    evaluation.plot_effects: (2, lambda made, **on: plots.plot_effects(made["effects"], **on)),
    interventions.plot_candidates: (2, lambda made, **on: plots.plot_candidates(made["found"], tolerance=0.1, **on)),
    interventions.plot_sensitivity: (2, lambda made, **on: plots.plot_sensitivity(made["sensitivity"], **on)),
    sampling.plot_collection: (2, lambda made, **on: plots.plot_collection(COLLECTED, **on)),
}


def name(function):
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def test_every_picture_takes_axes_by_keyword_and_is_tested_here():
    public = set()
    for module in pkgutil.iter_modules(plots.__path__, "evenhand.plots."):
        of = importlib.import_module(module.name)
        public |= {getattr(of, one) for one in vars(of) if one.startswith("plot_")}
    assert public == {*ONE, *SEVERAL}
    for function in public:
        ax = inspect.signature(function).parameters["ax"]
        assert (ax.kind, ax.default) == (inspect.Parameter.KEYWORD_ONLY, None)


@pytest.mark.parametrize("function", ONE, ids=name)
def test_a_picture_is_drawn_into_the_axes_that_are_given(function, made):
    figure, (left, right) = plt.subplots(1, 2)
    assert ONE[function](made, ax=left) is left
    assert left.get_title(loc="left")
    assert left.has_data()
    assert not right.has_data()
    assert plt.get_fignums() == [figure.number]
    plain = Figure().subplots()
    assert ONE[function](made, ax=plain) is plain
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("function", ONE, ids=name)
def test_otherwise_into_the_current_axes(function, made):
    _, (left, right) = plt.subplots(1, 2)
    plt.sca(left)
    assert ONE[function](made) is left
    assert not right.has_data()
    plt.close("all")
    alone = ONE[function](made)
    assert isinstance(alone, Axes)
    assert plt.gca() is alone
    assert ONE[function](made) is not alone, "a picture that opened its own figure is left as it is"


@pytest.mark.parametrize("function", SEVERAL, ids=name)
def test_pictures_of_several_panels_take_as_many_axes_and_return_their_figure(function, made):
    count, draw = SEVERAL[function]
    figure, panels = plt.subplots(1, count + 1)
    assert draw(made, ax=panels[:count]) is figure
    assert [axes.has_data() for axes in panels] == [True] * count + [False]
    assert len(plt.get_fignums()) == 1
    plt.close("all")
    assert draw(made) is plt.gcf()
    assert len(plt.gcf().axes) == count
    with pytest.raises(ArgumentError, match=f"ax: expected a sequence of {count} axes, got .*plt.subplots"):
        draw(made, ax=panels)


WRONG = {
    "a figure": lambda: plt.figure(),
    "several axes": lambda: plt.subplots(1, 2)[1],
    "a name": lambda: "axes",
    "polar axes": lambda: plt.subplot(projection="polar"),
    "nothing": lambda: False,
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("function", [quotas.plot_regret, studies.plot_owed], ids=name)
def test_axes_of_the_wrong_kind_are_refused_by_name(function, kind, made):
    given = WRONG[kind]()
    before = plt.get_fignums()
    with pytest.raises(ArgumentError, match=r"^ax: expected the axes of a two-dimensional plot, got .*plt.subplots"):
        ONE[function](made, ax=given)
    assert plt.get_fignums() == before


def test_current_axes_of_the_wrong_kind_are_refused(made):
    plt.subplot(projection="polar")
    with pytest.raises(ArgumentError, match="ax: expected the axes of a two-dimensional plot"):
        plots.plot_regret(made["history"])


@pytest.mark.parametrize(
    ("plot", "settings", "words"),
    [
        (plots.plot_regret, {"variable": "loss"}, r"variable: expected one of .*regret.* got 'loss'"),
        (plots.plot_shortfall, {"variable": "loss"}, r"variable: expected one of .* got 'loss'"),
        (plots.plot_cost, {"against": "best"}, r"against: expected one of .'fair', 'free', 'thompson'., got 'best'"),
        (plots.plot_regret, {"variable": "pulls"}, "facet: expected 'arm', as pulls has a value for each, got None"),
        (plots.plot_regret, {"facet": "arm"}, r"facet: expected one of \['policy'\], got 'arm'"),
    ],
    ids=range(5),
)
def test_what_is_not_there_is_refused_before_a_figure_is_opened(plot, settings, words, history):
    with pytest.raises(ArgumentError, match=words):
        plot(history, **settings)
    assert plt.get_fignums() == []


def test_many_pictures_leave_one_open_figure_where_nothing_can_be_shown(made):
    assert matplotlib.get_backend().lower() == "agg"
    drawn = [
        axes.figure if isinstance(axes, Axes) else axes
        for _ in range(11)
        for axes in (plots.plot_outcomes(made["found"]), plots.plot_candidates(made["found"], tolerance=0.1))
    ]
    assert plt.get_fignums() == [drawn[-1].number]
    assert len({id(figure) for figure in drawn}) == 22
    mine = plt.figure()
    plots.plot_cost(made["history"])
    assert plt.gcf() is mine
    assert len(mine.axes) == 1
