"""evenhand in a notebook, executed by a kernel: what each cell shows."""

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.compiled]

CELLS = {
    "begin": """
        import warnings
        warnings.simplefilter("always")
        import evenhand as eh
        policy = eh.quotas.FairUCB({"ads": 0.2, "news": 0.3, "sports": 0.3})
        world = eh.quotas.BernoulliArms({"ads": 0.7, "news": 0.5, "sports": 0.4})
    """,
    "threads": "_ = eh.simulate(policy, world, rounds=30_000, replications=8, seed=1, jobs=2, progress=True)",
    "processes": """
        _ = eh.simulate(policy, world, rounds=100, replications=2, seed=1, jobs=2, backend="loky", progress=True)
    """,
    "silent": "history = eh.simulate(policy, world, rounds=100, seed=1)",
    "policy": "policy",
    "history": "history",
    "audit": """
        import pandas as pd
        eh.audit.promise(pd.DataFrame({"item": ["ads", "news"] * 5}), arm="item", shares={"ads": 0.5, "news": 0.5})
    """,
    "picture": """
        %matplotlib inline
        _ = eh.plots.plot_regret(history)
    """,
}


@pytest.fixture(scope="module")
def shown():
    """Of each cell its outputs."""
    from textwrap import dedent

    import nbformat
    from nbclient import NotebookClient

    cells = [nbformat.v4.new_code_cell(dedent(code).strip()) for code in CELLS.values()]
    NotebookClient(nbformat.v4.new_notebook(cells=cells), kernel_name="python3", timeout=300).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, cells, strict=True)}


def test_an_import_shows_nothing(shown):
    assert shown["begin"] == []


@pytest.mark.parametrize("cell", ["threads", "processes"])
def test_a_simulation_shows_one_bar_and_no_warning(cell, shown):
    assert {output["name"] for output in shown[cell]} == {"stderr"}
    *drawn, last = "".join(output["text"] for output in shown[cell]).split("\r")
    assert "rounds" in last
    assert "100%" in last
    assert not any(line in text for text in (*drawn, last[:-10]) for line in ("\n", "Warning"))


def test_a_simulation_shows_nothing_unless_asked(shown):
    assert shown["silent"] == []


@pytest.mark.parametrize(
    ("cell", "html"),
    [("policy", "promised share"), ("history", "worst_shortfall"), ("audit", "The promise was kept in each of")],
)
def test_an_object_at_the_end_of_a_cell_is_shown_once_as_html(cell, html, shown):
    (output,) = shown[cell]
    assert output["output_type"] == "execute_result"
    assert html in output["data"]["text/html"]


def test_a_picture_is_shown_once(shown):
    (output,) = shown["picture"]
    assert output["output_type"] == "display_data"
    assert "image/png" in output["data"]
