"""The files of `evenhand init`: they are made in a folder of their own, and moved into place when all are whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evenhand.cli.studies.init_questions import Plan
from evenhand.errors import ArgumentError, wanted

__all__ = ["toml", "write"]


def write(plan: Plan) -> None:
    """Write the files of a plan into the working folder, all or none.

    Raises
    ------
    ArgumentError
        If one of them is there by now.
    """
    with TemporaryDirectory(prefix=".evenhand-init-", dir=".") as made:
        folder = Path(made)
        if plan.policy is not None:
            _create_study(plan, folder / f"{plan.name}.evenhand")
        if plan.candidates is not None:
            text = json.dumps(plan.candidates, ensure_ascii=False, indent=2) + "\n"
            (folder / f"{plan.name}-candidates.json").write_text(text, encoding="utf-8")
        (folder / f"{plan.name}.toml").write_text(_content(plan), encoding="utf-8")
        taken = next((file for file in plan.files if Path(file).exists()), None)
        if taken is not None:
            raise ArgumentError(wanted("name", "a new one", plan.name, f"{taken} exists already"))
        for file in plan.files:
            (folder / file).rename(file)


def _create_study(plan: Plan, store: Path) -> None:
    from evenhand.cli.reading.policies import describe, put
    from evenhand.studies import Study
    from evenhand.studies.specification import policy_from

    settings = dict(plan.policy or {})
    described = describe(settings.pop("policy"))
    name = settings.pop("name")
    for option, value in settings.items():
        if value:
            put(described, option, value)
    Study.create(store, policy_from(described, bounded=False), name=name).close()


def _content(plan: Plan) -> str:
    """Return the file of options, with the calls as comments."""
    parts = [f"# Options of evenhand: evenhand COMMAND --config {plan.name}.toml"]
    parts += [f"# {what}: {line}" for what, line in plan.calls.items()]
    return "\n".join(parts) + "\n\n" + toml(plan.options)


def toml(options: Mapping[str, Mapping[str, Any]]) -> str:
    """Return options by command as TOML, those of "" at the top.

    >>> print(toml({"": {"store": "a.evenhand"}, "new": {"shares": {"a b": "0.2"}}}), end="")
    store = "a.evenhand"
    <BLANKLINE>
    [new]
    shares = {"a b" = "0.2"}
    """
    sections = []
    for command, body in options.items():
        lines = [f"[{command}]"] if command else []
        lines += [f"{name} = {_value(value)}" for name, value in body.items() if value != ""]
        sections.append("\n".join(lines) + "\n")
    return "\n".join(sections)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_value(str(name))} = {_value(one)}" for name, one in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
