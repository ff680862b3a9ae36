"""The questions of `evenhand init`: each answer is checked at once, and asked for again if it cannot be used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import typer

from evenhand.cli.reading.tables import read_table
from evenhand.errors import ArgumentError, EvenhandError, TableError, nearest, wanted, wanted_one_of
from evenhand.extras import optional

__all__ = ["ANSWERS", "QUESTIONS", "Dialogue", "Plan", "planned"]

QUESTIONS = {
    "quotas": "which arm next, where each is owed a share of the decisions",
    "groups": "which arm next, where rewards may be biased against a group",
    "sampling": "which group's examples to label next, for the worst-off group",
    "similarity": "whom to choose, where similar people must be treated similarly",
    "interventions": "which policy to deploy, where groups must not fare differently",
}
NEEDED = dict.fromkeys(("quotas", "groups"), ("sqlalchemy",))
"""The packages of extras that an answer to a question is written with."""
ANSWERS = (
    *("question", "name", "arms", "groups", "sensitive", "numbers", "table", "group", "label", "budget", "features"),
    *("reward", "edges", "intervene", "outcome", "tolerance"),
)
"""What a file of answers may hold."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
T = TypeVar("T")


class Plan(NamedTuple):
    """What is to be written.

    Attributes
    ----------
    options : by command, "" for all; the content of NAME.toml.
    policy : the description of the study's policy, None where no study is created.
    candidates : the content of NAME-candidates.json, None where there is no such file.
    calls : how to call it, by what calls.
    """

    name: str
    files: list[str]
    options: dict[str, dict[str, Any]]
    policy: dict[str, Any] | None
    candidates: dict[str, Any] | None
    calls: dict[str, str]


class Dialogue:
    """Answers that are given beforehand, and a person who is asked for the others.

    Parameters
    ----------
    given : answers by name.
    quiet : whether to ask nobody, and take the default or refuse.
    """

    def __init__(self, given: Mapping[str, Any], *, quiet: bool) -> None:
        self.given, self._quiet = dict(given), quiet

    def answer(self, name: str, words: str, read: Callable[[str], T], default: str | None = None) -> T:
        """Return the answer to a question, as `read` returns it.

        Raises
        ------
        ArgumentError
            If an answer that was given cannot be used, or nobody may be asked.
        """
        if name in self.given:
            return read(self.given[name])
        if self._quiet:
            if default is None:
                raise ArgumentError(f"{name}: wanted an answer: {words}; add it to --from FILE, or omit --yes")
            return read(default)
        while True:
            text = typer.prompt(words, default=default, show_default=bool(default)).strip()
            try:
                return read(text)
            except EvenhandError as refusal:
                typer.echo(f"  {refusal}")


def planned(dialogue: Dialogue) -> Plan:
    """Ask what is needed, and return what is to be written."""
    question = dialogue.answer("question", "The question", partial(_one_of, "question", QUESTIONS), "quotas")
    for package in NEEDED.get(question, ()):  # nobody answers all questions to hear this after the last one
        optional(package, f"evenhand init --for {question}")
    name = dialogue.answer("name", "A name for the study and its files", partial(_free_name, question), question)
    if question in ("quotas", "groups"):
        return _study(dialogue, question, name)
    return {"sampling": _sampling, "similarity": _similarity, "interventions": _interventions}[question](dialogue, name)


def _one_of(name: str, known: Any, text: str) -> str:
    if text not in known:
        raise ArgumentError(wanted_one_of(name, known, text))
    return text


def _free_name(question: str, text: str) -> str:
    """Return a name of which there are no files yet."""
    if not NAME.fullmatch(text):
        raise ArgumentError(wanted("name", "letters, digits, - and _, at most 100", text))
    for ending in (".evenhand", ".toml", "-candidates.json"):
        if Path(text + ending).exists():
            raise ArgumentError(wanted("name", "a new one", text, f"{text}{ending} exists already"))
    return text


def _study(dialogue: Dialogue, question: str, name: str) -> Plan:
    """Return the plan of a study with arms that are owed shares, in groups or not."""
    if "arms" in dialogue.given:
        names = _checked_labels(list(dialogue.given["arms"]))
    else:
        names = dialogue.answer("arms", "What can be chosen? Names, separated by commas", _labels)
    shares: dict[str, str] = {}
    for one in names:
        asked = Dialogue({one: dialogue.given["arms"][one]} if "arms" in dialogue.given else {}, quiet=False)
        words = f"What share of all decisions is {one} owed at least, such as 0.2, 20% or 1/5?"
        shares[one] = asked.answer(one, words, partial(_share, one, shares), "0")
    owing = any(Fraction(share) for share in shares.values())
    policy: dict[str, Any] = {"policy": "deadline-learn", "shares": shares}
    contexts = ""
    if question == "groups":
        members, sensitive, numbers = _members(dialogue, names)
        rule = "deadline-learn+group-fair-top-interval" if owing else "group-fair-top-interval"
        policy = {"policy": rule, **({"shares": shares} if owing else {}), "groups": members, "sensitive": sensitive}
        contexts = json.dumps([[int(place == arm % numbers) for place in range(numbers)] for arm in range(len(names))])
    store, log = f"{name}.evenhand", f"{name}-decisions.csv"
    options: dict[str, dict[str, Any]] = {
        "": {"store": store},
        "new": policy | {"name": name},
        "export": {"out": log},
    }
    if owing:
        options["audit"] = {"log": log, "shares": shares}
    files = [store, f"{name}.toml"]
    return Plan(name, files, options, {**policy, "name": name}, None, _calls(name, store, contexts))


def _labels(text: str) -> list[str]:
    return _checked_labels([name.strip() for name in text.split(",")])


def _checked_labels(names: list[str]) -> list[str]:
    """Return the names of arms, two or more."""
    if len(names) < 2 or not all(names):
        raise ArgumentError(wanted("arms", "two names or more, separated by commas", ", ".join(names)))
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ArgumentError(wanted("arms", "each name once", f"{twice[0]}, twice"))
    if any(not name.isprintable() or "=" in name for name in names):
        raise ArgumentError(
            wanted("arms", "names without = and without signs that cannot be printed", ", ".join(names))
        )
    return names


def _share(arm: str, before: Mapping[str, str], text: str) -> str:
    """Return a share as a fraction, if it and those before it can be promised together."""
    written = text.strip().replace(",", ".")
    try:
        share = Fraction(written[:-1]) / 100 if written.endswith("%") else Fraction(written)
    except (ValueError, ZeroDivisionError) as error:
        raise ArgumentError(wanted(f"share of {arm}", "a number from 0 to 1, such as 0.2, 20% or 1/5", text)) from error
    left = 1 - sum(Fraction(one) for one in before.values())
    if not 0 <= share <= left:
        mend = "all shares together are at most 1"
        raise ArgumentError(wanted(f"share of {arm}", f"a number from 0 to {float(left):.4g}", text, mend))
    decimal = str(float(share))
    return decimal if Fraction(decimal) == share else str(share)


def _members(dialogue: Dialogue, arms: Sequence[str]) -> tuple[dict[str, str], str, int]:
    """Return the group of each arm, the group whose rewards are corrected, and how many numbers describe an arm."""
    given = dialogue.given.get("groups", {})
    strange = [arm for arm in given if arm not in arms]
    if strange:
        raise ArgumentError(wanted_one_of("groups", arms, strange[0], what="arms among"))
    members = {arm: dialogue.answer(f"group of {arm}", f"Which group does {arm} belong to?", partial(_word, arm))
               for arm in arms if arm not in given} | given  # fmt: skip
    groups = sorted({*members.values()})
    if len(groups) < 2:
        raise ArgumentError(wanted("groups", "two groups or more", ", ".join(groups)))
    words = f"Whose rewards may be too low: {', '.join(groups)}, or all?"
    sensitive = dialogue.answer("sensitive", words, partial(_one_of, "sensitive", [*groups, "all"]), "all")
    words = "How many numbers describe an arm in a round?"
    numbers = dialogue.answer("numbers", words, partial(_whole, "numbers"), "2")
    return {arm: members[arm] for arm in arms}, "" if sensitive == "all" else sensitive, numbers


def _word(arm: str, text: str) -> str:
    if not text or not text.isprintable() or set(text) & set(",="):
        raise ArgumentError(wanted(f"group of {arm}", "a name without commas and =", text))
    return text


def _whole(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= 10**9:
        raise ArgumentError(wanted(name, "a whole number above 0", text))
    return int(text)


def _calls(name: str, store: str, contexts: str) -> dict[str, str]:
    """Return a line that asks and tells for each way to call a study."""
    seen, shown = (contexts, f" --contexts '{contexts}'") if contexts else ("", "")
    body = f""" -H "Content-Type: application/json" -d '{{"contexts": {contexts}}}'""" if contexts else ""
    python = (
        f'import evenhand as eh; study = eh.Study.open("{store}"); '
        f"decision = study.ask({seen}); print(decision.arm, decision.reason); study.tell(decision, 1.0)"
    )
    ticket = f"""$(evenhand ask {store}{shown} | sed -E 's/.*"ticket": "([^"]+)".*/\\1/')"""
    http = (
        f"KEY=$(evenhand keys {store} add --role both | head -n 1); evenhand serve --store {store} & "
        f"curl -s --retry 30 --retry-connrefused --retry-delay 1 -X POST localhost:8000/studies/{name}/ask "
        f'-H "Authorization: Bearer $KEY"{body}'
    )
    return {"Python": python, "Shell": f'evenhand tell {store} "{ticket}" 1', "HTTP": http}


def _table(text: str) -> Any:
    """Return a table with its path."""
    return text, read_table(text)


def _column(name: str, frame: Any, text: str) -> str:
    if text not in frame.columns:
        raise TableError(wanted_one_of(name, map(str, frame.columns), text))
    return text


def _columns(name: str, frame: Any, text: str) -> str:
    for one in text.split(","):
        _column(name, frame, one.strip())
    return text


def _command(name: str, command: str, options: dict[str, Any]) -> Plan:
    """Return the plan of a command that has its options in a file."""
    calls = {"Shell": f"evenhand {command} --config {name}.toml"}
    return Plan(name, [f"{name}.toml"], {command: options}, None, None, calls)


def _sampling(dialogue: Dialogue, name: str) -> Plan:
    path, frame = dialogue.answer("table", "The table of labelled examples: a file", _table)
    group = dialogue.answer("group", "The column of groups", partial(_columns, "group", frame), _guess(frame, "group"))
    label = dialogue.answer("label", "The column of labels", partial(_column, "label", frame), _guess(frame, "label"))
    budget = dialogue.answer("budget", "How many labels can you pay for?", partial(_whole, "budget"), "1000")
    options = {"pool": path, "group": group, "label": label, "budget": budget, "out": f"out/{name}"}
    return _command(name, "sample", options)


def _similarity(dialogue: Dialogue, name: str) -> Plan:
    path, frame = dialogue.answer("table", "The table of people, one per row: a file", _table)
    features = dialogue.answer(
        "features", "The columns that describe a person, separated by commas", partial(_columns, "features", frame)
    )
    reward = dialogue.answer(
        "reward", "The column with the reward of choosing a person", partial(_column, "reward", frame),
        _guess(frame, "reward"),
    )  # fmt: skip
    options = {"table": path, "features": features, "reward": reward, "state": f"{name}-answers.evenhand"}
    return _command(name, "audit-pairs", options)


def _interventions(dialogue: Dialogue, name: str) -> Plan:
    from evenhand.data.tables import column, in_natural_order
    from evenhand.interventions.edges import parents_of, read_edges

    path, frame = dialogue.answer("table", "The table of observations: a file", _table)

    def graph(text: str) -> tuple[str, list[str]]:
        nodes = list(parents_of(*read_edges(text)))
        _columns("edges", frame, ",".join(map(str, nodes)))
        return text, nodes

    edges, nodes = dialogue.answer("edges", "What causes what, such as: sex -> dose -> cured, sex -> cured", graph)
    node = {part: dialogue.answer(part, words, partial(_one_of, part, nodes)) for part, words in (
        ("intervene", "The column that you can change"),
        ("sensitive", "The column of groups that must fare alike"),
        ("outcome", "The column with the outcome"),
    )}  # fmt: skip
    tolerance = dialogue.answer("tolerance", "By how much may the groups' outcomes differ?", _tolerance, "0.05")
    shown = read_table(path, text=[node["intervene"]]).dropna(subset=[node["intervene"]])
    values = [str(value) for value in in_natural_order(column(shown, node["intervene"]).tolist())[:20]]
    candidates = {"as now": None} | {f"always {value}": value for value in values}
    file = f"{name}-candidates.json"
    plan = _command(
        name, "recommend", {"model": path, "edges": edges, **node, "tolerance": tolerance, "candidates": file}
    )
    return plan._replace(files=[file, *plan.files], candidates=candidates)


def _tolerance(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError as error:
        raise ArgumentError(wanted("tolerance", "a number of 0 or more", text)) from error
    if not 0 <= number < float("inf"):
        raise ArgumentError(wanted("tolerance", "a number of 0 or more", text))
    return number


def _guess(frame: Any, name: str) -> str | None:
    """Return the column with the nearest name, as a default."""
    return next(iter(nearest(name, frame.columns)), None)
