"""Adult, the census of 1994, from the table to the answer."""

import pytest

from evenhand.datasets import load_adult
from tests.tasks.pages import follow


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.data
def test_census(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_DATA", str(data_folder))
    census, later = (
        part.drop(columns="group").assign(income=part["income"].map({0: "low", 1: "high"})) for part in load_adult()
    )
    census.to_csv(tmp_path / "census.csv", index=False)
    later.to_csv(tmp_path / "later.csv", index=False)
    people = census.assign(person=[f"p{number:05d}" for number in range(len(census))])
    people.drop(columns="income").to_csv(tmp_path / "people.csv", index=False)
    people[["person", "income"]].rename(columns={"person": "id", "income": "label"}).to_csv(
        tmp_path / "truth.csv", index=False
    )
    follow("tasks/census.md", tmp_path)
