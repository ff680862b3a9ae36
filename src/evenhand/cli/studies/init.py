"""`evenhand init`: asks what is owed to whom, and writes a study, a file with options, and how to call it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.options import JSON
from evenhand.errors import ArgumentError, TableError, wanted, wanted_one_of

__all__ = ["init"]


def init(
    question: Annotated[
        str,
        typer.Option("--for", help="The question: quotas, groups, sampling, similarity or interventions."),
    ] = "",
    name: Annotated[str, typer.Option(help="The name of the study and of its files.")] = "",
    arm: Annotated[
        list[str] | None, typer.Option(help="An arm, with the share it is owed: ads=0.2; may be repeated.")
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option(help="The group of an arm, for --for groups: ads=men; may be repeated.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--from", help="TOML file with answers: question, name, a table of arms.", exists=True, dir_okay=False
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: take defaults where no answer is given.")
    ] = False,
    json: JSON = False,
) -> None:
    """Ask what is owed to whom, and write a study, a file of options and the lines that call it. Nothing is written
    before the last question, and no file is replaced."""
    from evenhand.cli.output import as_json, say
    from evenhand.cli.studies.init_files import write
    from evenhand.cli.studies.init_questions import QUESTIONS, Dialogue, planned

    given = {} if answers is None else _answers(answers)
    given |= {"question": question} if question else {}
    given |= {"name": name} if name else {}
    given |= {"arms": _pairs(arm, "--arm", "0")} if arm else {}
    given |= {"groups": _pairs(group, "--group", None)} if group else {}
    if "question" not in given and (yes or "arms" in given):
        given["question"] = "groups" if "groups" in given else "quotas"
    if not yes and not given.get("question"):
        say("What do you decide?\n" + "\n".join(f"  {key:14} {words}" for key, words in QUESTIONS.items()))
    try:
        plan = planned(Dialogue(given, quiet=yes))
        if not yes and not typer.confirm(f"Write {' and '.join(plan.files)}?", default=True):
            raise typer.Abort
    except typer.Abort:
        typer.echo("\nNothing was written.", err=True)
        raise typer.Exit(130) from None
    write(plan)
    if json:
        as_json({"name": plan.name, "files": plan.files, "calls": plan.calls})
        return
    say(f"Written: {', '.join(plan.files)}")
    for what, line in plan.calls.items():
        say(f"\n{what}:\n{line}")


def _answers(path: Path) -> dict[str, Any]:
    """Return the answers in a file."""
    from evenhand.cli.studies.init_questions import ANSWERS
    from evenhand.errors import why_unreadable

    try:
        body = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise TableError(f"{path}: cannot be read as TOML: {why_unreadable(error)}") from error
    for key, value in body.items():
        if key not in ANSWERS:
            raise ArgumentError(wanted_one_of(str(path), ANSWERS, key, what="answers among"))
        if key in ("arms", "groups") and not isinstance(value, dict):
            raise ArgumentError(wanted(f"{path}: {key}", f"a table [{key}] with a line for each arm", value))
        if key not in ("arms", "groups") and isinstance(value, (dict, list, bool)):
            raise ArgumentError(wanted(f"{path}: {key}", "a text or a number", value))
    return {
        key: {k: str(v) for k, v in one.items()} if isinstance(one, dict) else str(one) for key, one in body.items()
    }


def _pairs(texts: list[str], option: str, default: str | None) -> dict[str, str]:
    """Return NAME=VALUE by name; NAME alone has the default, where there is one."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.rpartition("=") if "=" in text else (text, "", default or "")
        if not name.strip() or not value.strip() or (not equals and default is None):
            raise ArgumentError(wanted(option, "ARM=GROUP" if default is None else "ARM or ARM=SHARE", text))
        if name.strip() in found:
            raise ArgumentError(wanted(option, "each arm once", f"{name.strip()}, twice"))
        found[name.strip()] = value.strip()
    return found
