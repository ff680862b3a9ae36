"""Options that count only beside others, or only without them: anywhere else they are refused, not ignored."""

from __future__ import annotations

from typing import Any

from evenhand.cli.refusals import typed_options
from evenhand.errors import ArgumentError, wanted

WRITTEN = "--sep --decimal --encoding --format --header"
FORM = f"{WRITTEN} --values"
"""How a table is written, in commands that need none."""
PROMISED = {"--tolerance": "--shares --promise", "--cap-tolerance": "--cap --promise"}
COMPARED = {"--tolerance": "--shares --promise", "--promise": "not --shares --tolerance"}
BESIDE = {
    "new": {
        "--arms": "not --arms-from", "--arm": "--arms-from", FORM: "--shares --arms-from --spec --promise --groups"
    },
    "ask": {"--sticky": "--key", FORM: "--contexts --groups"},
    "tell": {
        "--file": "not TICKET --violations --acceptable --rows --samples --annotator --auditor", "--label": "--rows",
        WRITTEN: "--file --rows --samples",
    },
    "change": {FORM: "--shares --promise"},
    "show": {"--open --out": "not --decision"},
    "simulate": COMPARED | {
        "--arm --reward --group": "--data", "--sensitive --features": "--group", "--data": "not WORLD --means",
        FORM: "--data --log --shares --promise",
    },
    "certify": {f"--empty {FORM}": "--fresh"},
    "label": {
        "--annotator": "--tasks --read", "--annotator-of": "--read", "--items": "--tasks", "--read": "not --tasks"
    },
    "audit": PROMISED, "report": PROMISED, "evaluate": COMPARED,
    "recommend": {
        "--cut --smoothing": "--edges", "--delta": "--edges --budget --trial", "--seed": "--edges --budget not --trial",
        "--search --pooled --slack": "--budget --trial", "--ask --tell --log": "--trial",
        WRITTEN: "MODEL --candidates --tell --log",
    },
    "audit-pairs": {
        "--read": "not --store --questions", "--gap": "--read", "--state --questions --auditor": "not --store",
        "--study": "--store",
    },
    "choose": {"--seed": "--out"},
    "reproduce": {"--reduced": "not --quick"},
}  # fmt: skip
"""Of each command: options, those beside one of which they count, and after `not` those beside which they do not."""


def check_beside(context: Any) -> None:
    """Refuse an option that would have no effect beside what else was typed.

    Raises
    ------
    ArgumentError
        If there is one.
    """
    typed = {option: context.params.get(own) for own, option in typed_options(context).items()}
    for options, rule in BESIDE.get(context.info_name, {}).items():
        needed, _, excluded = (part.split() for part in rule.partition("not "))
        for option in [one for one in options.split() if one in typed]:
            for other in [one for one in excluded if one in typed]:
                raise ArgumentError(wanted(option, f"nothing beside {other}", typed[option]))
            if needed and not typed.keys() & {*needed}:
                raise ArgumentError(wanted(option, f"{' or '.join(needed)} beside it", None))
