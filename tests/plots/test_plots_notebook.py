"""In a notebook, a cell with a picture shows it, and shows it once."""

import pytest

SETUP = """
import matplotlib.pyplot as plt
import pandas as pd
import evenhand as eh
from evenhand import plots
from evenhand.interventions import SimulatedTrial
log = pd.DataFrame({"arm": list("abab"), "reward": [0, 1, 1, 0], "p": 0.5})
finding = eh.audit.promise(log, arm="arm", shares=0.5)
sensitivity = next(SimulatedTrial._examples()).problem.sensitivity(tolerance=0.1)
"""
CELLS = {
    "plots.plot_audit(finding)": 1,
    "axes = plots.plot_audit(finding)": 1,
    "axes": 0,
    "fig, two = plt.subplots(1, 2)\nplots.plot_audit(finding, ax=two[0])\nplots.plot_audit(finding, ax=two[1])": 1,
    "plots.plot_audit(finding)\nplots.plot_audit(finding)": 2,
    "plots.plot_sensitivity(sensitivity)": 1,
    "figure = plots.plot_sensitivity(sensitivity)": 1,
    "figure": 1,
    "plots.plot_sensitivity(sensitivity)\nplots.plot_audit(finding)": 2,
    "for _ in range(3):\n    figure = plots.plot_sensitivity(sensitivity)\nfigure": 3,
    "plt.get_fignums()": 0,
}


@pytest.mark.nightly
def test_a_cell_shows_each_picture_once():
    import nbclient
    import nbformat

    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, *CELLS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    shown = {
        cell.source: sum("image/png" in output.get("data", {}) for output in cell.outputs)
        for cell in notebook.cells[1:]
    }
    assert shown == CELLS
    assert not [output for cell in notebook.cells for output in cell.outputs if output.output_type == "stream"]
    assert notebook.cells[-1].outputs[0].data["text/plain"] == "[]"
