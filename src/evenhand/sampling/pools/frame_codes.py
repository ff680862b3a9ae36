"""Texts in data frames as numbers and back, so that rows are kept as one table of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from evenhand.errors import ContextError, expected
from evenhand.frames import holds_categories, is_frame
from evenhand.protocol import Label


class FrameCodes:
    """The texts of each column that is not one of numbers, in the order in which they were met.

    Examples
    --------
    >>> import pandas as pd
    >>> codes, frame = FrameCodes(), pd.DataFrame({"town": ["york", "bath", "york"], "age": [30, 40, 50]})
    >>> numbers = codes.numbers(frame).to_numpy(float)
    >>> numbers[:, 0].tolist(), codes.frame(numbers, ["town", "age"])["town"].tolist()
    ([0.0, 1.0, 0.0], ['york', 'bath', 'york'])
    """

    def __init__(self, texts: Mapping[str, Sequence[Label]] | None = None) -> None:
        self.texts = {name: list(known) for name, known in (texts or {}).items()}

    def numbers(self, frame: Any) -> Any:
        """Return a data frame of pandas with the number of each text in its place; new texts are taken in.

        Raises
        ------
        ContextError
            If a cell of a column of texts is neither text nor a whole number.
        """
        coded = {}
        for name, cells in frame.items():
            values = cells.tolist()
            if not (str(name) in self.texts or holds_categories(cells) or any(isinstance(one, str) for one in values)):
                continue
            odd = next((row for row, one in enumerate(values) if not isinstance(one, (str, int))), None)
            if odd is not None:
                raise ContextError(
                    expected(f"X, column {name!r}, row {odd + 1}", "text or a whole number", values[odd])
                )
            place = {text: number for number, text in enumerate(self.texts.get(str(name), ()))}
            coded[name] = [float(place.setdefault(one, len(place))) for one in values]
            self.texts[str(name)] = list(place)
        return frame.assign(**coded)

    def frame(self, numbers: NDArray[Any], columns: Sequence[str]) -> Any:
        """Return the data frame of rows (n, d) of numbers, its texts as categories: of some a model would read numbers,
        and take these for amounts."""
        import pandas as pd

        found = pd.DataFrame(numbers, columns=list(columns))
        for name, known in self.texts.items():
            categories = pd.CategoricalDtype(known)
            found[name] = pd.Categorical.from_codes(found[name].astype(int), dtype=categories)
        return found


def columns_of(X: object) -> list[str]:
    """Return the columns of a data frame whose columns have names; of anything else []."""
    names = list(X.columns) if is_frame(X) else []
    return names if all(isinstance(name, str) for name in names) else []
