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
  In a round in which arms are away and every arm on offer is at its cap, the play counts for no cap.
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
import struct
import sys
import time
import unicodedata
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

FORMAT = "evenhand proof 1"
CHANGES = ("add", "retire", "change")
TYPES = ((int,), (str,), (int, type(None)), (int,), (str,), *[(str, type(None))] * 5, (str,))
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


def written(label: Any) -> str:
    """Return how a label is written: numbers by their digits, text composed (NFC)."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    text = unicodedata.normalize("NFC", str(label))
    return text.lower() if text in ("True", "False", "TRUE", "FALSE") else text


def is_number(value: Any) -> bool:
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
        played = [index] if type(index) is int and index >= 0 else []
    chance = decided.get("propensity")
    alone = chance is None and isinstance(stated, list) and len(played) == 1 and played[0] < len(stated)
    return played, stated[played[0]] if alone and stated is not None else chance


def is_chance(decided: dict[str, Any]) -> bool:
    """Return whether the chance of a whole slate can be one."""
    chance: Any = decided.get("propensity")
    return "indexes" not in decided or (is_number(chance) and 0 < chance <= 1 + 1e-9)


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
        if (said := json.loads(header))["format"] != FORMAT:
            raise ValueError(f"expected the format {FORMAT!r}, got {said['format']!r}")
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
        if arms[: len(self.arms)] != self.arms or len(set(arms)) < len(arms):
            raise ValueError("the arms are others than before")
        self.arms, self.retired = arms, said["retired"]
        self.plays += [0] * (len(arms) - len(self.plays))
        live = []
        for stated in said["clauses"]:
            begun, kind, members, rate, slack, wait = stated
            at = before.get(json.dumps(stated))
            if at is None:
                p, q = map(int, rate.split("/"))
                places = bool(members) and all(type(arm) is int and 0 <= arm < len(arms) for arm in members)
                if begun != self.sequence or kind not in ("floor", "cap", "window") or not places or p < 0 or q < 1:
                    raise ValueError(f"no clause that begins here: {stated}")
                at = len(self.clauses)
                last = [0] * p if kind == "window" else []
                clause = {"said": stated, "kind": kind, "arms": members, "p": p, "q": q, "slack": int(slack)}
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
                note = self.decide(ticket, json.loads(fields[5]), json.loads(fields[4]).get("available"))
            elif kind in CHANGES and self.when is not None:
                self.begin(json.loads(said))
        except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as error:
            self.problems.append(f"entry {self.sequence} cannot be read: {error}")
        self.grow(leaf_of(self.digest, note))

    def decide(self, ticket: int, decided: dict[str, Any], available: Any) -> str:
        """Count a decision, check its chances, and return its note."""
        (played, chance), stated = positions_and_chance(decided), decided.get("probabilities")
        told = stated is not None or self.lottery is not None
        each = isinstance(decided.get("arm"), list)
        if told and played and not (self.adds_up(stated, played, each) and is_chance(decided)):
            self.problems.append(f"entry {self.sequence}, ask {ticket}: these cannot be its chances: {stated}")
        if self.when is not None:
            self.count(played, decided.get("arms", [decided.get("arm")]), available)
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
            place = {arm: i for i, arm in enumerate(self.arms)}
            given = available if isinstance(available, list) else self.arms if available is None else [available]
            offer = {place[written(arm)] for arm in given if written(arm) in place}.difference(self.retired)
        if not all(type(i) is int and i in offer for i in played) or not played:
            raise ValueError(f"no arms on offer: {played}")
        if [written(arm) for arm in named] != [self.arms[i] for i in played] or len(set(played)) < len(played):
            raise ValueError(f"other arms than their positions say, or one twice: {named}, {played}")
        self.rounds += 1
        live = [self.clauses[at] for at in self.live] if limited else []
        for clause in live:
            clause["idle"] += offer.isdisjoint(clause["arms"])
        full = [c["arms"] for c in live if c["kind"] == "cap" and value_of(c, self.clock(c)) >= c["q"] * c["slack"]]
        excused = len(offer) < len(self.arms) and offer.issubset(arm for arms in full for arm in arms)
        for arm in played:
            self.plays[arm] += 1
            for at in self.owners[arm]:
                self.play(self.clauses[at], excused)

    def play(self, clause: dict[str, Any], excused: bool) -> None:
        """Count a play, in an excused round for no cap; between two plays a floor and a window are worst right before
        the second, a cap after it."""
        clock = self.rounds - clause["idle"]
        if clause["kind"] != "cap":
            clause["most"] = max(clause["most"], value_of(clause, clock - 1))
        clause["plays"] += not (excused and clause["kind"] == "cap")
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
        if not self.clauses:
            return None
        clause = max(self.clauses, key=lambda one: Fraction(self.most(one), limit_of(one)))
        most, limit = self.most(clause), limit_of(clause)
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
    fields = json.loads(line)
    if not isinstance(fields, list) or len(fields) < len(TYPES):
        return None
    sound = all(type(fields[i]) in kinds for i, kinds in enumerate(TYPES)) and 0 <= fields[3] < 2**53
    more = [str] if fields[1] in CHANGES else []
    return fields if sound and [type(one) for one in fields[len(TYPES) :]] == more else None


def follow(lines: Iterable[str], known: Sequence[dict[str, Any]] = ()) -> tuple[Followed, list[str]]:
    """Return what a proof says, and the problems: of the log itself, and of checkpoints that it does not fit."""
    rows, problems, broken = iter(lines), [], ""
    log = Followed(next(rows, "{}"))
    while True:
        others = [one for one in known if one["entries"] == log.sequence and one["root"] != log.root()]
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
    note = note_of(*(receipt[name] for name in ("ticket", "at", "positions", "arms", "chance")))
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
    promise = "the promise was kept after every round" if log.kept() else "no promise for every round is counted"
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
            with open(path, encoding="utf-8") as file:
                one = json.load(file)
        except ValueError:
            proofs.append(path)
            continue
        (receipts if "path" in one else known if "root" in one else proofs).append(one)
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
    except (OSError, KeyError, TypeError, ValueError) as error:
        print(f"WRONG: this is no proof: {error!r}.")
        return 1
    print(said_of_log(log, problems, len(known)))
    print(json.dumps(log.checkpoint(), ensure_ascii=False))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
