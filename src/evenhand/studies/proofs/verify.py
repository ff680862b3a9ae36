"""Check the proof of a study, or the receipt of one decision. This file needs Python 3.8 or later and nothing else.

    python verify.py PROOF [CHECKPOINT ...]       the proof, a .zip or its log.jsonl
    python verify.py RECEIPT [CHECKPOINT]         one decision

Take this file from evenhand itself, not from whom you check. The format is described in docs/evidence.md:

- A chain: the digest of an entry is SHA-256 over its ten fields and the digest before it.
- A tree, as RFC 6962 builds it: leaf 0 is the first line, which states the study and its promise; then a leaf for each
  entry, of its digest and a note: of a decision its ticket, time, arms and chance, of a change what is promised from
  there on. So a receipt shows one decision with a chance and a path, and none of the rest.
- Books: of each clause the ticks n of its clock, its plays s, and the largest shortfall so far, in whole numbers:
  p n - q s of a floor p/q, q s - p n of a cap, of a window (p plays in q rounds) the ticks since its p-th last play. A
  floor or a cap with slack a is kept if the largest is below q (a + 1), a window if it is below q.
- The root is SHA-256 over 2, the number of entries, the head of the tree, and the digest of the books: it states the
  worst shortfall of all rounds, and whoever holds an earlier root finds every change of what was before it.

The books run along the log and stand in the root alone, not in the nodes: so paths are those of RFC 6962, a receipt
stays below 2 KB, and a checkpoint needs the last few nodes and one line for each clause to go on.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import struct
import sys
import time
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

FORMAT = "evenhand proof 1"
CHANGES = ("add", "retire", "change")
MAYBE = (str, type(None))
TYPES = ((int,), (str,), (int, type(None)), (int,), (str,), MAYBE, (str,), MAYBE, MAYBE, MAYBE, (str,))
UNREADABLE = (AttributeError, LookupError, MemoryError, OverflowError, RecursionError, TypeError, ValueError)
UNKNOWN = (
    "It cannot know whether the learner would have chosen so, whether decisions were made that were never logged, or "
    "whether all was written anew before the first checkpoint that you hold"
)


def sha(*parts: bytes) -> bytes:
    """Return the SHA-256 of these bytes together."""
    return hashlib.sha256(b"".join(parts)).digest()


def link(before: str, fields: Sequence[Any]) -> str:
    """Return the digest of an entry that follows the one with the digest `before`."""
    shown = ("\x00" if one is None else str(one).replace("\x00", "\x00\x00") for one in fields[:10])
    return sha("\x1f".join([before, *shown]).encode()).hex()


def read(text: str) -> Any:
    """Return what a JSON text says. As in JavaScript, 1.0 is the whole number 1, and NaN is no JSON."""
    return json.loads(text, parse_float=lambda digits: whole_or(float(digits)), parse_constant=int)


def whole_or(value: float) -> float:
    """Return a whole number as such."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def is_whole(value: object) -> bool:
    """Return whether a value is a whole number >= 0 that JavaScript reads exactly."""
    return type(value) is int and 0 <= value < 2**53


def are_positions(value: object, size: int) -> bool:
    """Return whether these are positions of so many arms, each once."""
    return isinstance(value, list) and all(is_whole(i) and i < size for i in value) and len(set(value)) == len(value)


def written(label: object) -> str | None:
    """Return how a label is written: whole numbers by their digits, text composed (NFC); None where it is no label."""
    if not isinstance(label, (int, str)):
        return None
    text = unicodedata.normalize("NFC", str(label))
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def is_number(value: object) -> bool:
    """Return whether a value is a number, which true and false are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def bits(chance: Any) -> str:
    """Return the 64 bits of a chance (IEEE 754, the first byte first), or nothing where it is not known."""
    return struct.pack(">d", chance).hex() if is_number(chance) else ""


def note_of(ticket: Any, at: int, played: Sequence[int], arms: Sequence[str], chance: Any) -> str:
    """Return the note of a decision, which stands in its leaf."""
    return "\x1f".join([str(ticket), str(at), ",".join(map(str, played)), bits(chance), *arms])


def positions_and_chance(decided: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return what was played, by positions, and the chance of that, None where it is not known."""
    played, index, stated = decided.get("indexes"), decided.get("index"), decided.get("probabilities")
    if played is None:
        played = decided["arm"] if is_each(decided) else [index] if is_whole(index) else []
    if not are_positions(played, 2**53):
        raise ValueError(f"these are no positions, each once: {played}")
    chance = decided.get("propensity")
    alone = chance is None and isinstance(stated, list) and len(played) == 1 and not is_each(decided)
    return played, stated[played[0]] if alone and stated is not None and played[0] < len(stated) else chance


def is_each(decided: dict[str, Any]) -> bool:
    """Return whether each position was drawn on its own."""
    return decided.get("indexes") is None and isinstance(decided.get("arm"), list)


def is_chance(decided: dict[str, Any], played: Sequence[int]) -> bool:
    """Return whether the chance of the whole decision can be one, and of a single arm is that stated for the arm."""
    chance, stated = decided.get("propensity"), decided.get("probabilities")
    slate = decided.get("indexes") is not None
    if chance is None:
        return not slate or stated is None
    alike = slate or stated is None or (len(played) == 1 and stated[played[0]] == chance)
    return is_number(chance) and 0 < chance <= 1 + 1e-9 and alike


def leaf_of(digest: str, note: str) -> bytes:
    """Return the leaf of an entry."""
    return sha(b"\x00", f"{digest}\x1f{note}".encode())


def root_of(entries: int, head: bytes, books: bytes) -> str:
    """Return the root of so many entries, by the head of their tree and the digest of their books."""
    return sha(b"\x02", entries.to_bytes(8, "big"), head, books).hex()


def value_of(clause: dict[str, Any], clock: int) -> int:
    """Return by how much a clause is behind, or ahead, after so many ticks of its clock."""
    if clause["kind"] == "window":
        return int(clock - clause["last"][0])
    behind: int = clause["p"] * clock - clause["q"] * clause["plays"]
    return behind if clause["kind"] == "floor" else -behind


def limit_of(clause: dict[str, Any]) -> int:
    """Return what a clause must stay below."""
    return int(clause["q"] if clause["kind"] == "window" else clause["q"] * (clause["slack"] + 1))


class Followed:
    """A log, followed entry by entry from its header: its chain, its tree, and the books of its promise; `problems` are
    what is wrong with it. Everything is kept as plain data."""

    def __init__(self, header: str) -> None:
        said = read(header)
        if said["format"] != FORMAT:
            raise ValueError(f"expected the format {FORMAT!r}, got {said['format']!r}")
        texts = all(isinstance(said[name], str) for name in ("study", "policy", "birth"))
        if not texts or not is_whole(said["created"]) or not (said["lottery"] is None or is_number(said["lottery"])):
            raise ValueError("the header has other values than a study writes")
        self.study, self.digest, self.at = said["study"], said["birth"], said["created"]
        self.when, self.lottery = said["when"], said["lottery"]
        self.sequence = self.rounds = self.decisions = 0
        self.peaks: list[list[Any]] = []
        self.problems: list[str] = []
        self.clauses: list[dict[str, Any]] = []
        self.live: list[int] = []
        self.arms: list[str] = []
        self.retired: list[int] = []
        self.plays: list[int] = []
        self.begin(said)
        self.grow(sha(b"\x00", header.encode()))

    def begin(self, said: dict[str, Any]) -> None:
        """Take up what is promised from here on; what stays in force is counted on."""
        arms, before = said["arms"], {json.dumps(self.clauses[i]["said"]): i for i in self.live}
        texts = all(isinstance(arm, str) for arm in arms) and len(set(arms)) == len(arms)
        if arms[: len(self.arms)] != self.arms or not texts or not are_positions(said["retired"], len(arms)):
            raise ValueError("the arms are others than before")
        self.arms, self.retired = arms, said["retired"]
        self.plays += [0] * (len(arms) - len(self.plays))
        live = []
        for stated in said["clauses"]:
            begun, kind, members, rate, slack, wait = stated
            at = before.pop(json.dumps(stated), None)
            if at is None:
                p, q = map(int, rate.split("/")) if re.fullmatch("[0-9]+/[0-9]+", rate) else (0, 0)
                whole = all(map(is_whole, (begun, slack, wait))) and (kind == "floor" or wait == 0)
                sound = whole and q > 0 and members and are_positions(members, len(arms))
                if begun != self.sequence or kind not in ("floor", "cap", "window") or not sound:
                    raise ValueError(f"no clause that begins here: {stated}")
                at = len(self.clauses)
                last = [0] * p if kind == "window" else []
                clause = {"said": stated, "kind": kind, "arms": members, "p": p, "q": q, "slack": slack}
                self.clauses.append({**clause, "idle": self.rounds + wait, "plays": 0, "most": 0, "last": last})
            live.append(at)
        for at in set(self.live).difference(live):
            clause = self.clauses[at]
            clause["most"], clause["ended"] = self.most(clause), self.clock(clause)
        self.live = live
        self.owners = [[at for at in live if arm in self.clauses[at]["arms"]] for arm in range(len(arms))]

    def clock(self, clause: dict[str, Any]) -> int:
        """Return the ticks of a clause's clock."""
        return int(clause.get("ended", self.rounds - clause["idle"]))

    def most(self, clause: dict[str, Any]) -> int:
        """Return the largest shortfall of a clause after any round so far."""
        return max(clause["most"], 0 if "ended" in clause else value_of(clause, self.clock(clause)))

    def take(self, fields: Sequence[Any], said: str = "") -> None:
        """Take in the next entry; `said` is what is promised after a change."""
        self.sequence, kind, ticket, self.at = fields[:4]
        self.digest, note = fields[10], said
        try:
            if kind == "ask":
                self.decisions += 1
                note = self.decide(ticket, read(fields[5]), read(fields[4]).get("available"))
            elif kind in CHANGES and self.when is not None:
                self.begin(read(said))
        except UNREADABLE as error:
            self.problems.append(f"entry {self.sequence} cannot be read: {error}")
        self.grow(leaf_of(self.digest, note))

    def decide(self, ticket: int, decided: dict[str, Any], available: Any) -> str:
        """Count a decision, check its chances, and return its note."""
        (played, chance), stated = positions_and_chance(decided), decided.get("probabilities")
        untold = stated is None and self.lottery is None
        adds_up = untold or self.adds_up(stated, played, is_each(decided))
        if played and not (adds_up and is_chance(decided, played)):
            self.problems.append(f"entry {self.sequence}, ask {ticket}: these cannot be its chances: {stated}")
        if self.when is not None:
            named = decided.get("arms")
            self.count(played, [decided.get("arm")] if named is None else named, available)
        return note_of(ticket, self.at, played, [self.arms[i] for i in played if i < len(self.arms)], chance)

    def adds_up(self, stated: Any, played: Sequence[int], each: bool) -> bool:
        """Return whether chances can be chances: together the plays, or at most 1 where each was drawn on its own, and
        none between 0 and the lottery's floor."""
        if not isinstance(stated, list) or not all(map(is_number, stated)) or min(stated, default=-1) < 0:
            return False
        for at in self.live if self.lottery and len(played) == 1 else ():
            clause = self.clauses[at]
            if clause["kind"] == "floor" and len(clause["arms"]) == 1 and self.clock(clause) >= 0:
                floor = self.lottery * clause["p"] / clause["q"]
                if len(stated) <= clause["arms"][0] or 0 < stated[clause["arms"][0]] < floor - 1e-9:
                    return False
        tight = max(stated) <= 1 + 1e-9 if each else abs(sum(stated) - len(played)) <= 1e-9 * len(stated)
        return tight and all(i < len(stated) and stated[i] > 0 for i in played)

    def count(self, played: Sequence[int], named: Sequence[Any], available: Any) -> None:
        """Enter a round in the books."""
        offer, limited = set(range(len(self.arms))), available is not None or bool(self.retired)
        if limited:
            place: dict[str | None, int] = {arm: i for i, arm in enumerate(self.arms)}
            given = available if isinstance(available, list) else self.arms if available is None else [available]
            offer = {place[written(arm)] for arm in given if written(arm) in place}.difference(self.retired)
        if not offer.issuperset(played) or not played:
            raise ValueError(f"no arms on offer: {played}")
        if not isinstance(named, list) or [written(arm) for arm in named] != [self.arms[i] for i in played]:
            raise ValueError(f"other arms than their positions say: {named}, {played}")
        self.rounds += 1
        for clause in [self.clauses[at] for at in self.live] if limited else ():
            clause["idle"] += offer.isdisjoint(clause["arms"])
        for arm in played:
            self.plays[arm] += 1
            for at in self.owners[arm]:
                self.play(self.clauses[at])

    def play(self, clause: dict[str, Any]) -> None:
        """Count a play; between two plays a floor and a window are worst right before the second, a cap after it."""
        clock = self.rounds - clause["idle"]
        if clause["kind"] != "cap":
            clause["most"] = max(clause["most"], value_of(clause, clock - 1))
        clause["plays"] += 1
        if clause["kind"] == "window":
            clause["last"] = [*clause["last"][1:], clock]
        elif clause["kind"] == "cap":
            clause["most"] = max(clause["most"], value_of(clause, clock))

    def grow(self, node: bytes) -> None:
        """Put a leaf into the tree."""
        size, self.leaf = 1, node.hex()
        while self.peaks and self.peaks[-1][0] == size:
            node, size = sha(b"\x01", bytes.fromhex(self.peaks.pop()[1]), node), 2 * size
        self.peaks.append([size, node.hex()])

    def books(self) -> bytes:
        """Return the digest of the books: the rounds, the plays of each arm, and a line for each clause."""
        lines = [str(self.rounds), ",".join(map(str, self.plays))]
        for one in self.clauses:
            begun, kind, members, *terms = one["said"]
            counted = self.clock(one), one["plays"], self.most(one)
            lines.append(" ".join(map(str, [begun, kind, ",".join(map(str, members)), *terms, *counted])))
        return sha("\n".join(lines).encode())

    def root(self) -> str:
        """Return the root of what was read so far."""
        node = bytes.fromhex(self.peaks[-1][1])
        for _, other in reversed(self.peaks[:-1]):
            node = sha(b"\x01", bytes.fromhex(other), node)
        return root_of(self.sequence, node, self.books())

    def kept(self) -> bool | None:
        """Return whether a promise for every round was kept; None where there is none."""
        kept = all(self.most(clause) < limit_of(clause) for clause in self.clauses)
        return kept if self.when == "at every round" else None

    def worst(self) -> dict[str, str] | None:
        """Return the clause that came closest to its limit, or went furthest beyond: its largest shortfall, in plays,
        of a window in rounds, and what that must stay below."""
        found: tuple[int, int, dict[str, Any]] | None = None
        for clause in self.clauses:
            most, limit = self.most(clause), limit_of(clause)
            if found is None or most * found[1] > found[0] * limit:
                found = most, limit, clause
        if found is None:
            return None
        most, limit, clause = found
        rate = f"{clause['p']} in {clause['q']}" if clause["kind"] == "window" else f"{clause['p']}/{clause['q']}"
        who = ", ".join(self.arms[arm] for arm in clause["arms"][:9])
        name = f"{clause['kind']} {rate} of {who if len(who) <= 120 else who[:117] + '...'}"
        if clause["kind"] == "window":
            return {"clause": name, "most": f"{most} rounds", "below": f"{limit} rounds"}
        return {"clause": name, "most": f"{most}/{clause['q']} plays", "below": f"{clause['slack'] + 1} plays"}

    def checkpoint(self) -> dict[str, Any]:
        """Return what to keep elsewhere, at most 1 KB."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at // 1_000_000))
        said = {"study": self.study, "entries": self.sequence, "rounds": self.rounds, "time": at}
        found = {"kept": self.kept(), "worst": self.worst()}
        return {**said, **found, "books": self.books().hex(), "root": self.root()}


def lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a proof."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive, archive.open("log.jsonl") as member:
            yield from (line.rstrip("\n") for line in io.TextIOWrapper(member, "utf-8", newline="\n"))
    else:
        with open(path, encoding="utf-8", newline="\n") as file:
            yield from (line.rstrip("\n") for line in file)


def entry_of(line: str) -> list[Any] | None:
    """Return the fields of a line, None where it is no entry."""
    fields = read(line)
    if not isinstance(fields, list) or len(fields) < len(TYPES):
        return None
    sound = all(type(fields[i]) in kinds for i, kinds in enumerate(TYPES)) and is_whole(fields[3])
    sound = sound and (is_whole(fields[2]) or (fields[2] is None and fields[1] != "ask"))
    more = [str] if fields[1] in CHANGES else []
    return fields if sound and [type(one) for one in fields[len(TYPES) :]] == more else None


def fits(kept: dict[str, Any], log: Followed) -> bool:
    """Return whether a checkpoint of so many entries says what they say."""
    return all(kept.get(name, value) == value for name, value in log.checkpoint().items())


def follow(lines: Iterable[str], known: Sequence[dict[str, Any]] = ()) -> tuple[Followed, list[str]]:
    """Return what a proof says, and the problems: of the log itself, and of checkpoints that it does not fit."""
    rows, problems, broken = iter(lines), [], ""
    log = Followed(next(rows, "{}"))
    while True:
        others = [one for one in known if one["entries"] == log.sequence and not fits(one, log)]
        problems += [f"the first {log.sequence} entries are not those of the checkpoint of {o['time']}" for o in others]
        line = next(rows, None)
        if line is None:
            break
        fields, number = entry_of(line), log.sequence + 1
        if fields is None:
            broken = f"line {number + 1} is no entry"
        elif fields[0] != number:
            broken = f"entry {number} is missing from the log"
        elif link(log.digest, fields) != fields[10]:
            broken = f"entry {number} was changed after it was written: its digest does not match"
        if fields is None or broken:
            break
        log.take(fields, *fields[11:])
    problems += [*log.problems, *([broken] if broken else [])]
    for one in known:
        if one["entries"] > log.sequence:
            problems.append(f"the log ends before entry {one['entries']}, the last of the checkpoint of {one['time']}")
    if log.kept() is False:
        problems.append("the promise was broken")
    return log, problems


def check_receipt(receipt: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Return whether a decision stands at its place of the root of a checkpoint (RFC 9162, section 2.1.3.2)."""
    ticket, at, played, arms, chance = (receipt[name] for name in ("ticket", "at", "positions", "arms", "chance"))
    if not (chance is None or is_number(chance)) or len(arms) > len(played):
        return False
    note = note_of(ticket, at, played, arms, chance)
    node, at, last = leaf_of(receipt["digest"], note), receipt["entry"], receipt["entries"]
    path = base64.b64decode(receipt["path"])
    for other in (path[i : i + 32] for i in range(0, len(path), 32)):
        if last == 0:
            return False
        if at % 2 or at == last:
            node = sha(b"\x01", other, node)
            while at and not at % 2:
                at, last = at // 2, last // 2
        else:
            node = sha(b"\x01", node, other)
        at, last = at // 2, last // 2
    root = root_of(receipt["entries"], node, bytes.fromhex(kept["books"]))
    return last == 0 and (receipt["entries"], root) == (kept["entries"], kept["root"])


def said_of_log(log: Followed, problems: Sequence[str], known: int) -> str:
    """Return what was found in a log, in one sentence, and what that cannot show."""
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return f"WRONG: {problems[0]}{more}."
    promise = {None: "no promise for every round is counted", True: "the promise was kept after every round"}[
        log.kept()
    ]
    worst, fits = log.worst(), f", and {known} earlier checkpoint{'s' * (known != 1)} fit" if known else ""
    closest = "" if worst is None else f" (closest: {worst['clause']}, {worst['most']}, below {worst['below']})"
    return (
        f"The {log.sequence} entries of the study {log.study} are whole{fits}; all chances of its {log.decisions} "
        f"decisions add up, and {promise}{closest}. {UNKNOWN}."
    )


def main(paths: Sequence[str]) -> int:
    """Check the files of these names, print what was found, and return 0 if all of it is sound."""
    known: list[dict[str, Any]] = []
    receipts: list[dict[str, Any]] = []
    proofs = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                one = json.loads(file.read(2**14))
        except (RecursionError, ValueError):
            one = {}
        if "path" in one or "root" in one:
            (receipts if "path" in one else known).append(one)
        else:
            proofs.append(path)
    if len(proofs) + len(receipts) != 1:
        print(str(__doc__).split("\n\n")[1])
        return 2
    if receipts:
        one = receipts[0]
        found = any(check_receipt(one, kept) for kept in known or [one["checkpoint"]] if kept)
        what = f"the decision {one['ticket']} for {', '.join(one['arms'])} with the chance {one['chance']}"
        whose = "of that root" if known else "of the root that came with it: compare it with one that others hold"
        print(f"{'Sound' if found else 'WRONG'}: {what} is {'' if found else 'not '}entry {one['entry']} {whose}.")
        return 0 if found else 1
    try:
        log, problems = follow(lines_of(proofs[0]), known)
    except (OSError, zipfile.BadZipFile, *UNREADABLE) as error:
        print(f"WRONG: this is no proof: {error!r}.")
        return 1
    print(said_of_log(log, problems, len(known)))
    print(json.dumps(log.checkpoint(), ensure_ascii=False))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
