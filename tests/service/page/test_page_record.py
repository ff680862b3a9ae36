"""The log on the page: a download, an audit in plain words, and the tickets that wait longest."""

from __future__ import annotations

import asyncio
import io
import re
from functools import partial
from threading import Event

import pandas as pd

from evenhand.service.sessions import Session
from tests.service.page.files import downloaded
from tests.service.page.test_page_arms import choose
from tests.service.page.test_page_charts import click


def test_the_log_is_downloaded_by_a_button(visitor, played, tmp_path):
    visitor.watch("ads")
    choose(visitor, "#record select", "bandit")
    save = partial(click, visitor, "download", "#record", format="parquet")
    name, content = downloaded(visitor, tmp_path, save)
    assert name == "ads-bandit.parquet"
    assert len(pd.read_parquet(io.BytesIO(content))) == played.state()["told"]
    assert visitor.complaints() == []


def test_a_download_that_is_refused_says_why(visitor, played):
    visitor.watch("ads")
    played.app.state.tables._places = asyncio.Semaphore(0)
    click(visitor, "download", "#record", format="csv")
    visitor.sees("are running already", "#record [role=alert]")


def test_the_whole_log_is_audited_by_a_button(visitor, played, monkeypatch):
    free, honest, state = Event(), Session.audit, played.state()
    monkeypatch.setattr(Session, "audit", lambda session: free.wait(60) and honest(session))
    visitor.watch("ads")
    click(visitor, "audit", "#record")
    entries = f"{state['sequence']:,}"
    visitor.sees(f"Checking {entries} entries; ", "#record .verdict")
    assert visitor.all("#record progress")
    assert visitor.all("#record [data-action=audit]")[0].get_attribute("disabled")
    visitor.until("/[1-9][0-9]* seconds? so far/.test(document.querySelector('#record .verdict').innerText)")
    free.set()
    visitor.sees("The log is sound.", "#record .verdict")
    words = visitor.text("#record .verdict")
    closed = f"{state['told']:,} reports, {state['forgotten']} forgotten, {state['open']} open tickets."
    assert f"{entries} entries were read: 1,234 decisions, {closed}" in words
    assert "No entry is missing or changed, and the policy decides the same again." in words
    worst = "{worst_shortfall:.2f}, of {worst_arm} at round {worst_round}".format(**state["promise"])
    assert f"The promise was kept at every round; the largest shortfall was {worst}." in words
    with played.store.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET at = at + 1 WHERE sequence = 7")
    played.ask()
    click(visitor, "audit", "#record")
    visitor.sees("The audit found 1 problem.", "#record .verdict")
    visitor.sees("entry 7", "#record .verdict")
    assert "No entry is missing" not in visitor.text("#record .verdict")


def test_the_tickets_that_wait_longest_come_first_with_their_age(visitor, played):
    visitor.watch("ads")
    waiting = played.every_decision("open=true")[::-1]
    rows = [row.text for row in visitor.all("#open tbody tr")]
    assert [row.split()[0] for row in rows] == [f"{entry['id']:,}" for entry in waiting[:8]]
    assert all(re.search(r"\d+ (hour|minute|day|month)s?$", row) for row in rows)
    assert f"The 8 oldest of {len(waiting)}." in visitor.text("#open")
    click(visitor, "allOpen", "#open")
    assert len(visitor.all("#open tbody tr")) == len(waiting)
