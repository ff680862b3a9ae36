"""The data of decisions and rewards, read from arguments and files: contexts, rewards, pairs, rows, trials."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.cli.inputs.inputs import COMMA, labels_in, named_shares, numbers_by_name
from evenhand.cli.inputs.tables import GIVEN, is_table, read_table, text_in
from evenhand.cli.refusals import in_shell
from evenhand.data.csv_cells import with_point
from evenhand.data.json_files import each_once
from evenhand.data.tables import cells, check_empty, column, numbers, places_in
from evenhand.errors import (
    ArgumentError,
    ContextError,
    RewardError,
    TableError,
    UnknownArmError,
    VerdictError,
    Wording,
    expected,
    expected_one_of,
    why_unreadable,
)
from evenhand.frames import rows_frame
from evenhand.labels import Labels
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.protocol import Label, labels_of_texts

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.studies import Study

EVERY_ROUND = (
    "where arms come and go, begin the study with deadline-learn+POLICY and name those on offer by --available; each "
    "arm still needs a row"
)


def contexts_of(text: str, study: Study) -> Any:
    """Read contexts as JSON, from a JSON file or a table, or from standard input (`-`, JSON).

    A table has one row per arm and one column per feature; where it has a column `arm`, rows may stand in any order. In
    JSON a row is a list of numbers, or an object column -> value; a single object is a row that all arms share.
    """
    if is_table(text):
        return _in_table(read_table(text, text=["arm"]), text, study)
    try:
        inline = text.lstrip().startswith(("[", "{"))
        content = text if inline else sys.stdin.read() if text == "-" else text_in(Path(text))
        given = json.loads(content, object_pairs_hook=each_once)
    except (OSError, ValueError) as error:
        what = (
            'rows of numbers [[1.0, 0.2], ...], objects [{"age": 30}, ...], a JSON or CSV file, or - for standard input'
        )
        raise ContextError(expected("--contexts", what, text, why_unreadable(error))) from error
    rows = isinstance(given, list) and bool(given) and all(isinstance(row, dict) for row in given)
    if not rows:
        return given
    frame = rows_frame(given, "--contexts")
    return _in_table(frame, "--contexts", study) if "arm" in frame.columns else frame


def _in_table(frame: pd.DataFrame, name: str, study: Study) -> Any:
    policy, features = study.state.bare_copy(), frame.drop(columns="arm", errors="ignore")
    arms = list(traits_of(policy).arms or ())
    if "arm" not in frame.columns and (named := _column_of_arms(frame, arms)) is not None:
        what = f"the column of arms to be called so; rename {named!r}, which has the names of arms"
        raise TableError(expected(f"{name}, column 'arm'", what, list(frame.columns)))
    for place, feature in enumerate(features.columns):
        check_empty(feature, features.iloc[:, place].isna(), f"fill it; {EVERY_ROUND}")
    encodes = isinstance(policy, KernelPolicy)
    if not encodes or policy.contexts.encoder is None:
        try:
            features = features.assign(**{name: numbers(features, name) for name in features.columns})
        except TableError as error:
            if not any(isinstance(cell, str) for cell in features.to_numpy().flat):
                raise
            hint = "this study takes only numbers: turn text into columns of 0 and 1 first, or leave it out"
            raise TableError(f"{in_shell(error)}; {hint}") from error
    order = list(range(len(frame)))
    if "arm" in frame.columns:
        rows = column(frame, "arm").tolist()
        at, where = places_in(column(frame, "arm"), arms).tolist(), f"{name}, column 'arm'"
        for label, place in zip(rows, at, strict=True):
            if place < 0:
                raise UnknownArmError(expected_one_of(where, arms, label, what="arms of the study,"))
            if at.count(place) > 1:
                raise UnknownArmError(expected(where, "each arm once", Wording(f"{label!r} more than once")))
        if missing := [arm for number, arm in enumerate(arms) if number not in at]:
            none = Wording(f"none for {missing[0]!r}")
            raise UnknownArmError(expected(where, "a row for every arm", none, EVERY_ROUND))
        order.sort(key=at.__getitem__)
    ordered = features.iloc[order].reset_index(drop=True)
    return ordered if encodes else ordered.to_numpy(np.float64).tolist()


def _column_of_arms(frame: pd.DataFrame, arms: list[Label]) -> Any:
    """Return the name of a column of texts that are all arms; None if there is none."""
    known = Labels(arms)
    for place, name in enumerate(frame.columns):
        if all(isinstance(cell, str) and cell in known for cell in frame.iloc[:, place]):
            return name
    return None


def groups_of(text: str, study: Study) -> dict[Label, Any] | list[Any]:
    """Read the groups of some arms, a=men,b=women, or a JSON file or object, or those of all arms as a list in JSON."""
    traits = traits_of(study.state.bare_copy())
    names = {str(name): name for name in (traits.membership.names if traits.membership else ())}

    def own(group: Any) -> Any:
        return names.get(group, group) if isinstance(group, str) else group

    if text.lstrip().startswith("["):
        return list(map(own, labels_in(text, "--groups")))
    named = named_shares(text, "--groups")
    if named is None:
        raise ArgumentError(expected("--groups", "ARM=GROUP,ARM=GROUP, or a JSON file, object or list", text))
    arms = {str(arm): arm for arm in traits.arms or ()}
    return {arms.get(arm, arm): own(group) for arm, group in named.items()}


def ticket_of(text: str) -> int | str:
    """Return a decision's number, or its signed ticket as it is."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else text


def several_of(study: Study) -> bool:
    """Return whether the study plays several arms in a round."""
    return traits_of(study.log.first_policy).plays > 1


def told_label(text: str) -> Label | None:
    """Read an item's label: a whole number or a text; null rejects the item, and "null" in quotes is a text.

    >>> told_label("3"), told_label("03"), told_label("cat"), told_label("null"), told_label('"3"')
    (3, '03', 'cat', None, '3')
    """
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if value is None or (isinstance(value, (int, str)) and not isinstance(value, bool)) else text


def reward_of(text: str, several: bool = False) -> Any:
    """Read a reward: a number, a list of numbers as JSON, or null where nobody was chosen; with `several`, for several
    arms, also 1,0 or a=1,b=0 or a JSON object; a text that --values names is its number."""
    text = str(dict(GIVEN.get().values).get(text, text))
    try:
        return float(text)
    except ValueError:
        pass
    try:
        value = json.loads(f"[{text}]" if several and text[:1] not in ("[", "{", "n") and "=" not in text else text)
    except ValueError:
        value = text
    if several and value == text and "=" in text:  # a=1,b=0, or with blanks in the place of commas
        with suppress(ArgumentError):
            value = numbers_by_name(",".join(text.replace(",", " ").split()), "REWARD")
    if value is None:
        return None
    numbers = value.values() if several and isinstance(value, dict) else value if isinstance(value, list) else [text]
    if not all(type(one) in (int, float) for one in numbers):
        by_arm = ", rewards by arm a=1,b=0" if several else ""
        hint = f"for words pass --values, such as --values {text}=1" if text.isalpha() else ""
        hint = hint or ("decimals take a point, 0.1" if COMMA.fullmatch(text) else "")
        raise RewardError(expected("REWARD", f"a number, a list 1,0{by_arm}, or null", text, hint))
    if isinstance(value, dict):
        return {arm: float(one) for arm, one in value.items()}
    return [float(one) for one in value]


def pairs_of(text: str, option: str) -> list[list[int]] | bool:
    """Read pairs of positions, 0-1,2-3; violations may be true or false, without a pair.

    >>> pairs_of("0-1,2-3", "--violations"), pairs_of("true", "--violations")
    ([[0, 1], [2, 3]], True)
    """
    if option == "--violations" and text in ("true", "false"):
        return text == "true"
    pairs = [part.split("-") for part in text.split(",")]
    if any(len(pair) != 2 or not all(place.strip().isdigit() for place in pair) for pair in pairs):
        raise VerdictError(expected(option, "pairs of positions, 0-1,2-3", text))
    return [[int(first), int(second)] for first, second in pairs]


def rows_of(path: str, label: str) -> dict[str, Any]:
    """Read labelled rows: every column but `label` is a feature."""
    frame = read_table(path, text=[label])
    labels = column(frame, label).tolist()
    features = [numbers(frame, str(name)) for name in frame.columns if name != label]
    rows = np.column_stack(features).tolist() if features else [[] for _ in labels]
    return {"X": rows, "y": labels_of_texts(labels)}


def read_rewards(path: str, several: bool) -> list[tuple[str, Any]]:
    """Read a table of tickets, rewards, and weights if it has some: what each ticket is told; in the place of a reward
    that cannot be read stands its refusal."""
    frame = read_table(path, text=["ticket", "reward", "weight"])
    tickets = [str(ticket) for ticket in column(frame, "ticket")]
    rewards = [_reward_in(cell, several) for cell in cells(frame.fillna({"reward": ""}), "reward")]
    weights = [{"weight": str(cell)} for cell in cells(frame, "weight")] if "weight" in frame else [{}] * len(rewards)
    return [
        (ticket, reward if isinstance(reward, RewardError) else {"reward": reward} | weight)
        for ticket, reward, weight in zip(tickets, rewards, weights, strict=True)
    ]


def _reward_in(cell: Any, several: bool) -> Any:
    try:
        return reward_of(str(cell) if several else with_point(str(cell)), several)
    except RewardError as refusal:
        return refusal
