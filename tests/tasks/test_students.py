"""Students: a teacher judges pairs, and everybody gets a fair chance, by the commands of the page alone."""

import numpy as np
import pandas as pd
import pytest

from evenhand.errors import ExhaustedError
from evenhand.similarity import PairQueue
from tests.tasks.pages import follow

pytestmark = [pytest.mark.slow, pytest.mark.data, pytest.mark.timeout(300)]

WEIGHTS = np.array([0.9, 1.5])
"""What the teacher goes by: 12 points for one step of study time, 22 for ten absences."""


def keys(table):
    """Return what a teacher types, who judges by one distance."""
    typed, queue = [], PairQueue(table[["studytime", "absences"]], table["G3"], seed=0)
    while True:
        try:
            task = queue.ask()
        except ExhaustedError:
            return "\n".join(typed) + "\n"
        one, other = queue._rows[[int(row) for row in task.item.split("-")]]
        unfair = np.linalg.norm(WEIGHTS * (one - other)) < task.gap
        queue.tell(task, "unfair" if unfair else "acceptable")
        typed.append("u" if unfair else "a")


def test_the_page_on_students_goes_from_pairs_to_chances_that_the_teacher_finds_fair(data_folder, tmp_path):
    raw = (data_folder / "student" / "student-mat.csv").read_bytes()
    (tmp_path / "students.csv").write_bytes(raw)
    table = pd.read_csv(tmp_path / "students.csv", sep=";")
    (tmp_path / "keys.txt").write_text(keys(table))
    follow("tasks/students.md", tmp_path)
    written = pd.read_csv(tmp_path / "chances.csv")
    assert written.chance.sum() == pytest.approx(20)
    assert (written.chosen == "yes").sum() == 20
    rows = PairQueue(table[["studytime", "absences"]], table["G3"], seed=0)._rows * WEIGHTS
    apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    chances = written.chance.to_numpy()
    assert (np.abs(chances[:, None] - chances) <= apart + 1e-9).all()
