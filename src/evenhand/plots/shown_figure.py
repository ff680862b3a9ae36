"""The figures that evenhand opens in pyplot."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook shows once, also where a cell ends with it."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """Leave pyplot, which would show the figure again at the end of the cell; IPython's own formats show it now."""
        import matplotlib.pyplot as plt

        if self.canvas.required_interactive_framework is None:  # no window shows it
            plt.close(self)
        return {}
