"""Every notebook of the site runs from its first cell to its last, without a warning."""

import pytest

from tests.docs.test_pages import DOCS, NOTEBOOKS


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_notebook_runs(page):
    import nbclient
    from myst_nb.core.read import read_myst_markdown_notebook
    from myst_parser.config.main import MdParserConfig

    notebook = read_myst_markdown_notebook(page.read_text(), MdParserConfig(enable_extensions={"dollarmath"}))
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(page.parent)}}
    )
    client.execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs
    assert [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"] == []
