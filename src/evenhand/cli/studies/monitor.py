"""`evenhand monitor`: the monitors and alerts of a study."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from evenhand.cli.options import JSON, STORE, STUDY
from evenhand.errors import ArgumentError, wanted

__all__ = ["monitor"]

ACTIONS = ("list", "add", "remove", "check", "acknowledge")


def monitor(
    store: STORE,
    action: Annotated[str, typer.Argument(help="list, add, remove, check or acknowledge.")] = "list",
    number: Annotated[
        int | None, typer.Argument(help="The id of the monitor to remove, or of the alert to acknowledge.")
    ] = None,
    metric: Annotated[
        str, typer.Option(help="The metric of a new monitor: shortfall, drift, reward, overdue, group-gap.")
    ] = "",
    threshold: Annotated[
        float | None, typer.Option(help="An alert is raised above this value; for reward, below it.")
    ] = None,
    window: Annotated[int, typer.Option(help="Decisions or rewards to look at; for overdue, seconds.")] = 0,
    subject: Annotated[str | None, typer.Option(help="The arm or group to watch; by default the worst of all.")] = None,
    webhook: Annotated[str | None, typer.Option(help="The address to which the service posts alerts.")] = None,
    note: Annotated[str, typer.Option(help="What is done about the alert to acknowledge.")] = "",
    study: STUDY = None,
    json: JSON = False,
) -> None:
    """Watch a study. check measures now, shows the alerts that changed, and exits with 1 while one is active."""
    from evenhand.cli.output import answer, as_json
    from evenhand.studies import Study
    from evenhand.studies.monitoring import monitors

    if action not in ACTIONS:
        raise ArgumentError(wanted("ACTION", f"one of {', '.join(ACTIONS)}", action))
    if (action in ("remove", "acknowledge")) != (number is not None):
        what = (
            "the id of an alert, to acknowledge it" if action == "acknowledge" else "the id of a monitor, to remove it"
        )
        raise ArgumentError(wanted("NUMBER", what, number))
    if note and action != "acknowledge":
        raise ArgumentError(wanted("--note", "none but to acknowledge an alert", note))
    if (action == "add") != bool(metric) or (action == "add") != (threshold is not None):
        raise ArgumentError(wanted("--metric, --threshold", "both for a monitor to add", metric or threshold))
    with Study.open(store, study) as running:
        if threshold is not None:
            made = monitors.add(running, metric, threshold=threshold, window=window, subject=subject, webhook=webhook)
            signed = {} if webhook is None else {"secret": monitors.secret(running, made)}
            words = f"monitor {made.id} watches {made.metric}"
            answer(made._asdict() | signed, "; messages are signed with ".join([words, *signed.values()]), json)
            return
        if number is not None and action == "acknowledge":
            status = monitors.acknowledge(running, number, note=note)
            answer({"id": number, "status": status}, f"alert {number} is {status}", json)
            return
        if number is not None:
            monitors.remove(running, number)
            answer({"id": number, "status": "removed"}, f"monitor {number} is removed", json)
            return
        changed = monitors.watch(running) if action == "check" else []
        standing = monitors.alerts(running, standing=True)
        found = {
            "changed": [alert.row() for alert in changed],
            "standing": [alert.row() for alert in standing],
            "monitors": [one._asdict() for one in monitors.listed(running)],
        }
    if json:
        as_json(found)
    else:
        _say(running.name, found, action)
    if action == "check" and standing:
        raise typer.Exit(1)


def _say(name: str, found: dict[str, list[dict[str, Any]]], action: str) -> None:
    from evenhand.cli.output import cell, records, say

    rows = found["monitors"]
    if rows and action == "list":
        records("Monitors", rows)
    for part, title in {"changed": "Raised or cleared just now", "standing": "Alerts that stand"}.items():
        if found[part]:
            say(f"{title}:")
        for alert in found[part]:
            shown = {field: cell(value) for field, value in alert.items()}
            whose = "" if alert["subject"] is None else f" of {alert['subject']}"
            over = "" if alert["cleared"] is None else f", cleared {shown['cleared']}"
            over += "" if alert["acknowledged"] is None else f", acknowledged {shown['acknowledged']}"
            passed = f"{alert['metric']}{whose} at {shown['value']}, threshold {shown['threshold']}"
            say(f"  alert {alert['id']}: {passed}; raised {shown['raised']} after entry {alert['sequence']}{over}")
    if not rows:
        say(f"{name}: no monitors yet")
    elif not found["standing"]:
        say(f"{name}: no alert stands")
