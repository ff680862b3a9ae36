"""Check the proof of a study, or the receipt of one decision. This file needs Python 3.11 or later and nothing else.

    python verify.py PROOF [CHECKPOINT ...]       the proof, a .zip or its log.jsonl
    python verify.py RECEIPT [CHECKPOINT ...]     one decision

Take this file from evenhand itself, not from whom you check. The format is described in docs/evidence.md:

- A chain: the digest of an entry is SHA-256 over its ten fields and the digest before it.
- A tree, as RFC 6962 builds it: leaf 0 is the first line, which states the study and its promise; then a leaf for each
  entry, of its digest and a note: of a decision its ticket, time, arms and chance, of a change what is promised from
  there on. So a receipt shows one decision with a chance and a path, and none of the rest.
- Books: of each clause the ticks n of its clock, its plays s, and the largest shortfall so far, in whole numbers:
  p n - q s of a floor p/q, q s - p n of a cap, of a window (p plays in q rounds) the ticks since its p-th last play. A
  floor or a cap with slack a is kept if the largest is below q (a + 1), a window if it is below q.
  In a round in which arms are away and every arm on offer is at its cap, the play counts for no cap.
- The root is SHA-256 over 2, the number of entries, the head of the tree, and the digest of the books: it states the
  worst shortfall of all rounds, and whoever holds an earlier root finds every change of what was before it.

The books run along the log and stand in the root alone, not in the nodes: so paths are those of RFC 6962, a receipt
stays below 2 KB, and a checkpoint needs the last few nodes and one line for each clause to go on.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import sys
import time
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any

FORMAT = "evenhand proof 1"
COUNTED = ("at every round", "at the horizon", "in the long run")
CHANGES = ("add", "retire", "change")
UNREADABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
TYPES = {"whole": (int,), "text": (str,), "number": (int, float), "list": (list,)}


def table(said: str) -> dict[str, tuple[type, ...]]:
    """Return the names of some values, in order, with the types that each may have; a ? stands for null."""
    pairs = (one.split(" ") for one in said.split(", "))
    return {name: (*TYPES[kind.rstrip("?")], *[type(None)] * kind.endswith("?")) for name, kind in pairs}


HEADER = table("study text, policy text, created whole, birth text, when text?, lottery number?")
PROMISE = table("arms list, retired list, clauses list")
CLAUSE = table("begun whole, kind text, arms list, rate text, slack whole, wait whole")
ENTRY = table(
    "sequence whole, kind text, ticket whole?, at whole, given text, decision text?, version text, "
    "random_state text?, key text?, actor text?, digest text"
)
ASK = ENTRY | table("ticket whole, decision text")
CHANGE = ENTRY | table("promise text")
RECEIPT = table("ticket whole, at whole, positions list, chance number?, arms list, entry whole, entries whole")


def check(holds: object, problem: str) -> None:
    """Refuse what does not hold."""
    if not holds:
        raise ValueError(problem)


def number_of(digits: str) -> float:
    """Return a number with a point or an exponent: as in JavaScript, 1.0 is the whole number 1."""
    value = float(digits)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


JSON = json.JSONDecoder(parse_float=number_of, parse_constant=int)


def read(text: str) -> Any:
    """Return what a JSON text says. NaN is no JSON, and nothing is nested so deep that programs differ; nor are there
    whole numbers of more than 4,300 digits, which Python refuses."""
    if text.count("[") + text.count("{") > 100:
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
        depths = accumulate((sign in "[{") - (sign in "]}") for sign in bare)
        check(max(depths, default=0) <= 100, "values are nested more than 100 deep")
    return JSON.decode(text)


def typed(said: Any, types: dict[str, tuple[type, ...]]) -> dict[str, Any]:
    """Return an object, or a list whose values have the names of a table, if the types are those of the table; whole
    numbers must be >= 0 and such that JavaScript reads them exactly."""
    named = dict(zip(types, said, strict=True)) if isinstance(said, list) else said
    for name, allowed in types.items():
        if type(value := named[name]) not in allowed or (type(value) is int and not is_whole(value)):
            raise ValueError(f"{name} cannot be {value!r}")
    return {name: named[name] for name in types}


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


def sha(*parts: bytes) -> bytes:
    """Return the SHA-256 of these bytes together."""
    return hashlib.sha256(b"".join(parts)).digest()


def link(before: str, fields: Sequence[Any]) -> str:
    """Return the digest of an entry that follows the one with the digest `before`."""
    shown = ("\x00" if one is None else str(one).replace("\x00", "\x00\x00") for one in fields[:10])
    return sha("\x1f".join([before, *shown]).encode()).hex()


def note_of(ticket: int, at: int, played: Sequence[int], chance: Any, arms: Sequence[str]) -> str:
    """Return the note of a decision, which stands in its leaf, with the 64 bits of its chance (IEEE 754)."""
    bits = struct.pack(">d", chance).hex() if isinstance(chance, (int, float)) else ""
    return "\x1f".join([str(ticket), str(at), ",".join(map(str, played)), bits, *arms])


def drawn(decided: dict[str, Any]) -> tuple[list[int], Any, str]:
    """Return what was played, by positions; the chance of that, None where it is not known; and how it was drawn."""
    arm, index, slate = decided.get("arm"), decided.get("index"), decided.get("indexes")
    how = "together" if slate is not None else "each" if isinstance(arm, list) else "one"
    played: Any = {"together": slate, "each": arm, "one": [index] if is_whole(index) else []}[how]
    check(are_positions(played, 2**53), f"these are no positions, each once: {played}")
    chance, stated = decided.get("propensity"), decided.get("probabilities")
    if chance is None and how == "one" and played and isinstance(stated, list) and played[0] < len(stated):
        chance = stated[played[0]]
    return played, chance if played else None, how


def value_of(clause: dict[str, Any], clock: int) -> int:
    """Return by how much a clause is behind, or ahead, after so many ticks of its clock."""
    if clause["kind"] == "window":
        return int(clock - (clause["last"][0] if len(clause["last"]) == clause["p"] else 0))
    behind: int = clause["p"] * clock - clause["q"] * clause["plays"]
    return behind if clause["kind"] == "floor" else -behind


class Followed:
    """A log, followed entry by entry from its header: its chain, its tree, and the books of its promise; `problems` are
    what is wrong with it. Everything is kept as plain data."""

    def __init__(self, header: str) -> None:
        said = read(header)
        check(said["format"] == FORMAT, f"expected the format {FORMAT!r}, got {said['format']!r}")
        self.study, _, self.at, self.digest, self.when, self.lottery = typed(said, HEADER).values()
        check(self.when in (*COUNTED, "by weight", None), f"no promise is kept {self.when!r}")
        check(0 <= (self.lottery or 0) <= 1, f"no lottery has the floor {self.lottery!r}")
        self.sequence = self.rounds = self.decisions = 0
        self.problems, self.arms, self.peaks = list[str](), list[str](), list[str]()
        self.plays, self.live, self.clauses = list[int](), list[int](), list[dict[str, Any]]()
        self.begin(said)
        self.grow(header)

    def begin(self, said: dict[str, Any]) -> None:
        """Take up what is promised from here on; what stays in force is counted on."""
        arms, self.retired, clauses = typed(said, PROMISE).values()
        sound = all(isinstance(arm, str) for arm in arms) and len(set(arms)) == len(arms)
        sound = sound and are_positions(self.retired, len(arms)) and arms[: len(self.arms)] == self.arms
        check(sound, f"no arms that follow those before: {arms}, retired: {self.retired}")
        self.arms = arms
        self.plays += [0] * (len(arms) - len(self.plays))
        before, self.live = {json.dumps(self.clauses[at]["said"]): at for at in self.live}, []
        for stated in clauses:
            self.live.append(before.pop(json.dumps(stated), len(self.clauses)))
            if self.live[-1] == len(self.clauses):
                self.clauses.append(self.begun(stated))
        for clause in (self.clauses[at] for at in before.values()):
            clause["ended"] = self.clock(clause)
        self.owners = [[at for at in self.live if arm in self.clauses[at]["arms"]] for arm in range(len(arms))]

    def begun(self, stated: Any) -> dict[str, Any]:
        """Return the books of a clause that begins here."""
        clause = typed(stated, CLAUSE)
        rate = re.fullmatch("([0-9]{1,1000})/([0-9]{1,1000})", clause["rate"])
        p, q = map(int, rate.groups()) if rate else (0, 0)
        late, known = clause["wait"] > 0, any(one["said"] == stated for one in self.clauses)
        sound = {"floor": q > 0, "cap": q > 0 and not late, "window": 0 < p <= q and not late}.get(clause["kind"])
        sound = sound and clause["arms"] and are_positions(clause["arms"], len(self.arms)) and self.when in COUNTED
        check(sound and clause["begun"] == self.sequence and not known, f"no clause that begins here: {stated}")
        counted = {"idle": self.rounds + clause["wait"], "plays": 0, "most": 0, "last": []}
        limit = q if clause["kind"] == "window" else q * (clause["slack"] + 1)
        return clause | counted | {"said": stated, "p": p, "q": q, "limit": limit}

    def clock(self, clause: dict[str, Any]) -> int:
        """Return the ticks of a clause's clock."""
        return int(clause.get("ended", self.rounds - clause["idle"]))

    def most(self, clause: dict[str, Any]) -> int:
        """Return the largest shortfall of a clause after any round so far."""
        return max(clause["most"], value_of(clause, self.clock(clause)))

    def enter(self, line: str) -> None:
        """Take in the next line, which must be the next entry."""
        fields, number = read(line), self.sequence + 1
        typed(fields, ASK if fields[1] == "ask" else CHANGE if fields[1] in CHANGES else ENTRY)
        check(fields[0] == number, f"entry {number} is missing from the log")
        check(link(self.digest, fields) == fields[10], f"entry {number} was changed: its digest does not match")
        self.take(fields, *fields[11:])

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
        self.grow(f"{self.digest}\x1f{note}")

    def decide(self, ticket: int, decided: dict[str, Any], available: Any) -> str:
        """Count a decision, check its chances, and return its note."""
        played, chance, how = drawn(decided)
        stated, named = decided.get("probabilities"), decided.get("arms")
        if played and not self.are_chances(stated, played, chance, how):
            self.problems.append(f"entry {self.sequence}, ask {ticket}: these cannot be its chances: {stated}")
        if self.when is not None:
            self.count(played, [decided.get("arm")] if named is None else named, available)
        return note_of(ticket, self.at, played, chance, [self.arms[i] for i in played if i < len(self.arms)])

    def are_chances(self, stated: Any, played: Sequence[int], chance: Any, how: str) -> bool:
        """Return whether chances can be chances: together the plays, or each at most 1 where each was drawn on its own,
        none between 0 and the lottery's floor, and that of the decision is that of its arm."""
        proper = chance is None or (type(chance) in (int, float) and 0 < chance <= 1 + 1e-9)
        if stated is None or not proper:
            return proper and self.lottery is None
        numbers = isinstance(stated, list) and all(type(one) in (int, float) and one >= 0 for one in stated)
        if not numbers or not all(i < len(stated) and stated[i] > 0 for i in played):
            return False
        sound = chance is not None if how == "together" else chance is None or [chance] == [stated[i] for i in played]
        for one in (self.clauses[at] for at in self.live if self.lottery and len(played) == 1):
            if one["kind"] == "floor" and len(one["arms"]) == 1 and self.clock(one) >= 0:
                sound = sound and not 0 < stated[one["arms"][0]] < self.lottery * (one["p"] / one["q"]) - 1e-9
        tight = max(stated) <= 1 + 1e-9 if how == "each" else abs(sum(stated) - len(played)) <= 1e-9 * len(stated)
        return sound and tight

    def count(self, played: Sequence[int], named: Any, available: Any) -> None:
        """Enter a round in the books."""
        given = available if isinstance(available, list) else [available]
        labels = set(self.arms if available is None else map(written, given))
        offer = {i for i, arm in enumerate(self.arms) if arm in labels}.difference(self.retired)
        check(played and offer.issuperset(played), f"no arms on offer: {played}")
        alike = isinstance(named, list) and [written(arm) for arm in named] == [self.arms[i] for i in played]
        check(alike, f"other arms than their positions say: {named}, {played}")
        self.rounds += 1
        live = [self.clauses[at] for at in self.live] if len(offer) < len(self.arms) else []
        for clause in live:
            clause["idle"] += offer.isdisjoint(clause["arms"])
        full = [c["arms"] for c in live if c["kind"] == "cap" and value_of(c, self.clock(c)) >= c["q"] * c["slack"]]
        excused = offer.issubset(arm for arms in full for arm in arms)
        for arm in played:
            self.plays[arm] += 1
            for clause in (self.clauses[at] for at in self.owners[arm]):
                if clause["kind"] != "cap" or not excused:
                    self.play(clause, self.clock(clause))

    def play(self, clause: dict[str, Any], clock: int) -> None:
        """Count a play; between two plays a floor and a window are worst right before the second, a cap after it."""
        before = value_of(clause, clock - 1)
        clause["plays"] += 1
        clause["most"] = max(clause["most"], value_of(clause, clock) if clause["kind"] == "cap" else before)
        if clause["kind"] == "window":
            clause["last"] = [*clause["last"], clock][-clause["p"] :]

    def grow(self, text: str) -> None:
        """Put the leaf of a text into the tree."""
        node, leaves = sha(b"\x00", text.encode()), self.sequence
        self.leaf = node.hex()
        while leaves % 2:
            node, leaves = sha(b"\x01", bytes.fromhex(self.peaks.pop()), node), leaves // 2
        self.peaks.append(node.hex())

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
        *others, node = map(bytes.fromhex, self.peaks)
        for other in reversed(others):
            node = sha(b"\x01", other, node)
        return sha(b"\x02", self.sequence.to_bytes(8, "big"), node, self.books()).hex()

    def kept(self) -> bool | None:
        """Return whether a promise for every round was kept; None where there is none."""
        return all(self.most(one) < one["limit"] for one in self.clauses) if self.when == "at every round" else None

    def worst(self) -> dict[str, str] | None:
        """Return the clause that came closest to its limit, or went furthest beyond: its largest shortfall, in plays,
        of a window in rounds, and what that must stay below."""
        if not self.clauses:
            return None
        clause = max(self.clauses, key=lambda one: Fraction(self.most(one), one["limit"]))
        kind, p, q, slack, most = *(clause[name] for name in ("kind", "p", "q", "slack")), self.most(clause)
        who = ", ".join(self.arms[arm] for arm in clause["arms"][:9])
        who = who if len(who) <= 120 else who[:117] + "..."
        if kind == "window":
            return {"clause": f"window {p} in {q} of {who}", "most": f"{most} rounds", "below": f"{q} rounds"}
        return {"clause": f"{kind} {p}/{q} of {who}", "most": f"{most}/{q} plays", "below": f"{slack + 1} plays"}

    def checkpoint(self) -> dict[str, Any]:
        """Return what to keep elsewhere, at most 1 KB."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.at // 1_000_000))
        said = {"study": self.study, "entries": self.sequence, "rounds": self.rounds, "time": at}
        return said | {"kept": self.kept(), "worst": self.worst(), "books": self.books().hex(), "root": self.root()}


def lines_of(path: str) -> Iterator[str]:
    """Yield the lines of a proof."""
    with zipfile.ZipFile(path).open("log.jsonl") if zipfile.is_zipfile(path) else open(path, "rb") as file:
        yield from (line.decode().rstrip("\n") for line in file)


def fits(kept: dict[str, Any], log: Followed) -> bool:
    """Return whether a checkpoint of so many entries says what they say."""
    return all(kept.get(name, value) == value for name, value in log.checkpoint().items())


def follow(lines: Iterable[str], known: Sequence[dict[str, Any]] = ()) -> tuple[Followed, list[str]]:
    """Return what a proof says, and the problems: of the log itself, and of checkpoints that it does not fit."""
    rows = iter(lines)
    log = Followed(next(rows, "{}"))
    while True:
        wrong = [one for one in known if one["entries"] == log.sequence and not fits(one, log)]
        log.problems += [
            f"the first {log.sequence} entries are not those of the checkpoint of {o['time']}" for o in wrong
        ]
        try:
            log.enter(next(rows))
        except StopIteration:
            break
        except UNREADABLE as error:
            log.problems.append(f"line {log.sequence + 2} is not the next entry: {error}")
            break
    late = [one for one in known if one["entries"] > log.sequence]
    problems = [f"the log ends before entry {o['entries']}, the last of the checkpoint of {o['time']}" for o in late]
    return log, [*log.problems, *problems, *["the promise was broken"] * (log.kept() is False)]


def head_by(leaf: bytes, at: int, size: int, beside: Sequence[bytes]) -> bytes:
    """Return the head of a tree of so many leaves by the one at this place and the nodes beside its way up."""
    if size == 1 and not at and not beside:
        return leaf
    left = 1 << (size - 1).bit_length() - 1
    *rest, last = beside
    pair = (head_by(leaf, at, left, rest), last) if at < left else (last, head_by(leaf, at - left, size - left, rest))
    return sha(b"\x01", *pair)


def check_receipt(receipt: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Return whether a decision stands at its place of the root of a checkpoint."""
    try:
        ticket, at, played, chance, arms, entry, entries = typed(receipt, RECEIPT).values()
        leaf = sha(b"\x00", f"{receipt['digest']}\x1f{note_of(ticket, at, played, chance, arms)}".encode())
        path = base64.b64decode(receipt["path"])
        head = head_by(leaf, entry, entries + 1, [path[i : i + 32] for i in range(0, len(path), 32)])
        root = sha(b"\x02", entries.to_bytes(8, "big"), head, bytes.fromhex(kept["books"])).hex()
        return len(arms) <= len(played) and (entries, root) == (kept["entries"], kept["root"])
    except UNREADABLE:
        return False


def said_of_log(log: Followed, problems: Sequence[str], known: int) -> str:
    """Return what was found in a log, in one sentence, and what that cannot show."""
    if problems:
        return f"WRONG: {'; '.join([*problems[:3], *['and more'] * (len(problems) > 3)])}."
    promise = "the promise was kept after every round" if log.kept() else "no promise for every round is counted"
    worst, fits = log.worst(), f", and {known} earlier checkpoint{'s' * (known != 1)} fit" if known else ""
    closest = "" if worst is None else f" (closest: {worst['clause']}, {worst['most']}, below {worst['below']})"
    return (
        f"The {log.sequence} entries of the study {log.study} are whole{fits}; all chances of its {log.decisions} "
        f"decisions add up, and {promise}{closest}. It cannot know whether the learner would have chosen so, what was "
        "never logged, or what was written anew before the first checkpoint that you hold."
    )


def said_of_receipt(one: dict[str, Any], sound: bool, known: int) -> str:
    """Return what was found in a receipt, in one sentence."""
    what = f"the decision {one['ticket']} for {', '.join(one['arms'])} with the chance {one['chance']}"
    whose = "of that root" if known else "of the root that came with it: compare it with one that others hold"
    return f"{'Sound' if sound else 'WRONG'}: {what} is {'' if sound else 'not '}entry {one['entry']} {whose}."


def object_in(path: str) -> dict[str, Any]:
    """Return the receipt or the checkpoint in a file, something else where it is a proof."""
    with open(path, "rb") as file:
        try:
            return dict(json.loads(file.read(2**14)))
        except (RecursionError, TypeError, ValueError):
            return {}


def main(paths: Sequence[str]) -> int:
    """Check the first of these files by the others, print what was found, and return 0 if all of it is sound."""
    if not paths:
        print(str(__doc__).split("\n\n")[1])
        return 2
    try:
        first, *known = map(object_in, paths)
        if "path" in first:
            sound = any(check_receipt(first, kept) for kept in known or [first["checkpoint"]])
            print(said_of_receipt(first, sound, len(known)))
            return 0 if sound else 1
        log, problems = follow(lines_of(paths[0]), known)
    except (OSError, zipfile.BadZipFile, *UNREADABLE) as error:
        print(f"WRONG: this is no proof: {error!r}.")
        return 1
    print(said_of_log(log, problems, len(known)), json.dumps(log.checkpoint(), ensure_ascii=False), sep="\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
