"""The log on the page: a download, an audit in plain words, and the tickets that wait longest."""

from __future__ import annotations

import re

import pytest

from tests.service.page.files import downloaded
from tests.service.page.test_page_charts import click
from tests.service.page.visitor import Visitor


def test_the_log_is_downloaded_by_a_button(visitor, tmp_path):
    format, form = "parquet", "bandit"
    visitor.watch("ads")
    visitor.driver.execute_script(
        "const form = document.querySelector('#record select'); form.value = arguments[0];"
        "form.dispatchEvent(new Event('change', {bubbles: true}))",
        form,
    )
    with downloaded(visitor, tmp_path) as file:
        click(visitor, "download", "#record", format=format)
    assert (file.name, file.content.decode()) == (f"ads-{form}.{format}", f"{format} {form}")
    assert visitor.complaints() == []


def test_a_download_that_is_refused_says_why(visitor, fake):
    visitor.watch("ads")
    fake.closed = True
    click(visitor, "download", "#record", format="csv")
    visitor.sees("are running already", "#record [role=alert]")


def test_the_whole_log_is_audited_by_a_button(visitor, fake):
    visitor.watch("ads")
    fake.answers.clear()
    click(visitor, "audit", "#record")
    entries = f"{fake.studies['ads'].state()['sequence']:,}"
    visitor.sees(f"Checking {entries} entries; ", "#record .verdict")
    assert visitor.all("#record progress")
    assert visitor.all("#record [data-action=audit]")[0].get_attribute("disabled")
    visitor.until("/[1-9][0-9]* seconds? so far/.test(document.querySelector('#record .verdict').innerText)")
    fake.answers.set()
    visitor.sees("The log is sound.", "#record .verdict")
    words = visitor.text("#record .verdict")
    assert f"{entries} entries were read: 1,234 decisions" in words
    assert "No entry is missing or changed, and the policy decides the same again." in words
    assert "The promise was kept at every round; the largest shortfall was 0.90, of a at round 3." in words
    fake.problems = ["entry 7 was changed after it was written"]
    click(visitor, "audit", "#record")
    visitor.sees("The audit found 1 problem.", "#record .verdict")
    visitor.sees("entry 7 was changed after it was written", "#record .verdict")
    assert "No entry is missing" not in visitor.text("#record .verdict")


def test_the_tickets_that_wait_longest_come_first_with_their_age(visitor, fake):
    visitor.watch("ads")
    waiting = [entry for entry in fake.studies["ads"].log if entry["status"] == "open"]
    rows = [row.text for row in visitor.all("#open tbody tr")]
    assert [row.split()[0] for row in rows] == [f"{entry['id']:,}" for entry in waiting[:8]]
    assert all(re.search(r"\d+ (hour|minute)s?$", row) for row in rows)
    assert f"The 8 oldest of {len(waiting)}." in visitor.text("#open")
    click(visitor, "allOpen", "#open")
    assert len(visitor.all("#open tbody tr")) == len(waiting)


@pytest.mark.slow
def test_the_service_itself_saves_and_audits(chromium, served, tmp_path):
    decisions = served.ask(json={"count": 30}).json()["decisions"]
    served.tell({"batch": [{"ticket": one["ticket"], "reward": 1.0} for one in decisions[:20]]})
    visitor = Visitor(chromium, served.url)
    visitor.complaints()
    visitor.watch("ads", served.keys["read"])
    with downloaded(visitor, tmp_path) as file:
        click(visitor, "download", "#record", format="csv")
    assert file.name == "ads-log.csv"
    assert len(file.content.splitlines()) == 31
    click(visitor, "audit", "#record")
    visitor.sees("50 entries were read: 30 decisions, 20 reports, 0 forgotten, 10 open tickets.", "#record")
    visitor.sees("The log is sound.", "#record")
    assert visitor.complaints() == []
    chromium.get("about:blank")
