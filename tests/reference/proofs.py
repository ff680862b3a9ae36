"""A verifier of proofs, written from docs/evidence.md alone: it reads the whole log and counts every prefix anew."""

import base64
import hashlib
import json
import re
import struct
import unicodedata
from fractions import Fraction

US = "\x1f"


class Wrong(Exception):
    """The log is not one that a study writes."""


def need(holds):
    if not holds:
        raise Wrong


def digest(data):
    return hashlib.sha256(data).digest()


def head(leaves):
    """The Merkle tree hash of RFC 6962, section 2.1."""
    if len(leaves) == 1:
        return leaves[0]
    left = 1 << (len(leaves) - 1).bit_length() - 1
    return digest(b"\x01" + head(leaves[:left]) + head(leaves[left:]))


def value_of(text):
    """A JSON text, as the page reads it: 1.0 is 1, and not too deep or long."""

    def shallow(value, depth=0):
        need(depth <= 100)
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            shallow(one, depth + isinstance(one, (dict, list)))

    def whole_number(digits):
        need(len(digits.lstrip("-")) <= 4300)
        return int(digits)

    def fraction(digits):
        number = float(digits)
        return int(number) if abs(number) < 2**53 and number % 1 == 0 else number

    value = json.loads(text, parse_int=whole_number, parse_float=fraction, parse_constant=lambda _: need(False))
    shallow([value])
    return value


def below(text):
    """An object in JSON, without the names that are null."""
    said = value_of(text)
    need(isinstance(said, dict))
    return {name: value for name, value in said.items() if value is not None}


def whole(value):
    return type(value) is int and 0 <= value < 2**53


def positions(value, size=2**53):
    return isinstance(value, list) and all(whole(i) and i < size for i in value) and len(set(value)) == len(value)


def label_text(label):
    if type(label) not in (bool, int, str):
        return None
    if isinstance(label, bool):
        return "true" if label else "false"
    text = unicodedata.normalize("NFC", str(label))
    return {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}.get(text, text)


def number(value):
    return type(value) in (int, float)


class Proof:
    """All that a proof says. `clauses` are lists of [terms, first round, last round or None]."""

    def __init__(self, header):
        said = value_of(header)
        need(said["format"] == "evenhand proof 1" and whole(said["created"]))
        need(all(type(said[name]) is str for name in ("study", "policy", "birth")))
        need(said["when"] in ("at every round", "at the horizon", "in the long run", "by weight", None))
        need(said["lottery"] is None or (number(said["lottery"]) and 0 <= said["lottery"] <= 1))
        self.when, self.lottery, self.before = said["when"], said["lottery"], said["birth"]
        self.leaves = [digest(b"\x00" + header.encode())]
        self.rounds, self.clauses, self.arms = [], [], []
        self.promise(said, 0)

    def promise(self, said, sequence):
        arms = said["arms"]
        need(type(arms) is list and all(type(arm) is str for arm in arms) and len(set(arms)) == len(arms))
        need(arms[: len(self.arms)] == self.arms and positions(said["retired"], len(arms)))
        going = [one for one in self.clauses if one[2] is None]
        self.arms, self.retired, listed = arms, set(said["retired"]), said["clauses"]
        need(self.when not in ("by weight", None) or not listed)
        need(type(listed) is list and all(listed.count(terms) == 1 for terms in listed))
        for terms in listed:
            begun, kind, members, rate, slack, wait = terms
            if not any(one[0] == terms for one in going):
                need(re.fullmatch("[0-9]{1,1000}/[0-9]{1,1000}", rate))
                p, q = map(int, rate.split("/"))
                need(begun == sequence and all(map(whole, (begun, slack, wait))) and q > 0)
                need(kind == "floor" or (wait == 0 and (kind == "cap" or (kind == "window" and 1 <= p <= q))))
                need(members and positions(members, len(arms)))
                self.clauses.append([terms, len(self.rounds), None])
        for one in going:
            if one[0] not in listed:
                one[2] = len(self.rounds)

    def count(self, clause):
        """n, s and the largest shortfall of a clause."""
        (_, kind, members, rate, _, wait), first, last = clause
        p, q = map(int, rate.split("/"))
        n, moments, most = -wait, [], 0
        for played, offered, excused in self.rounds[first:last]:
            if not offered.isdisjoint(members):
                n += 1
                moments += [n] * sum(arm in members for arm in played if not excused or kind != "cap")
            s = len(moments)
            shortfall = {"floor": p * n - q * s, "cap": q * s - p * n}.get(kind)
            if kind == "window":
                shortfall = n - (moments[-p] if s >= p else 0)
            most = max(most, shortfall)
        return n, len(moments), most

    def entry(self, fields):
        sequence, kind, ticket, at, given, decision = fields[:6]
        shown = ["\0" if one is None else str(one).replace("\0", "\0\0") for one in fields[:10]]
        need(digest(US.join([self.before, *shown]).encode()).hex() == fields[10])
        self.before, note = fields[10], ""
        if kind in ("add", "retire", "change"):
            note = fields[11]
            if self.when is not None:
                self.promise(value_of(note), sequence)
        elif kind == "ask":
            need(whole(ticket))
            note = self.decision(ticket, at, below(given), below(decision))
        self.leaves.append(digest(b"\x00" + (fields[10] + US + note).encode()))

    def decision(self, ticket, at, given, decided):
        each = "indexes" not in decided and isinstance(decided.get("arm"), list)
        alone = "indexes" not in decided and not each
        index = decided.get("index")
        played = decided.get("indexes", decided.get("arm") if each else [index] if whole(index) else [])
        need(positions(played))
        stated, chances = decided.get("propensity"), decided.get("probabilities")
        chance = (stated if stated is not None or not chances or not alone else chances[index]) if played else None
        if played:
            need(chance is None or (number(chance) and 0 < chance <= 1 + 1e-9))
            need(self.lottery is None or chances is not None)
        if played and chances is not None:
            self.chances(chances, played, each)
            need("indexes" not in decided or stated is not None)
            need("indexes" in decided or stated is None or (len(played) == 1 and chances[played[0]] == stated))
        if self.when is not None:
            self.round(played, decided, given.get("available"))
        bits = struct.pack(">d", chance).hex() if number(chance) else ""
        names = [self.arms[i] for i in played if i < len(self.arms)]
        return US.join([str(ticket), str(at), ",".join(map(str, played)), bits, *names])

    def chances(self, chances, played, each):
        need(isinstance(chances, list) and chances and all(number(one) and one >= 0 for one in chances))
        need(max(chances) <= 1 + 1e-9 if each else abs(sum(chances) - len(played)) <= 1e-9 * len(chances))
        need(all(arm < len(chances) and chances[arm] > 0 for arm in played))
        if self.lottery and len(played) == 1:
            for clause in self.clauses:
                (_, kind, members, rate, _, _), _, ended = clause
                if ended is None and kind == "floor" and len(members) == 1 and self.count(clause)[0] >= 0:
                    need(members[0] < len(chances))
                    floor = self.lottery * float(Fraction(rate))
                    need(not 0 < chances[members[0]] < floor - 1e-9)

    def round(self, played, decided, available):
        named = available if isinstance(available, list) else [available]
        texts = set(self.arms if available is None else map(label_text, named))
        offered = {i for i, arm in enumerate(self.arms) if arm in texts} - self.retired
        need(played and len(set(played)) == len(played) and all(type(i) is int and i in offered for i in played))
        labels = decided.get("arms", [decided.get("arm")])
        need(isinstance(labels, list))
        need([label_text(one) for one in labels] == [self.arms[i] for i in played])
        excused = len(offered) < len(self.arms) and all(map(self.is_full, offered))
        self.rounds.append((played, offered, excused))

    def is_full(self, arm):
        """Whether another play of an arm that is on offer in the next round would break a cap."""
        for clause in self.clauses:
            (_, kind, members, rate, slack, _), _, ended = clause
            if kind == "cap" and ended is None and arm in members:
                p, q = map(int, rate.split("/"))
                n, s, _ = self.count(clause)
                if q * (s + 1) - p * (n + 1) >= q * (slack + 1):
                    return True
        return False

    def root(self):
        plays = [sum(arm in played for played, _, _ in self.rounds) for arm in range(len(self.arms))]
        lines = [str(len(self.rounds)), ",".join(map(str, plays))]
        for clause in self.clauses:
            begun, kind, members, *terms = clause[0]
            lines.append(" ".join(map(str, [begun, kind, ",".join(map(str, members)), *terms, *self.count(clause)])))
        size = (len(self.leaves) - 1).to_bytes(8, "big")
        return digest(b"\x02" + size + head(self.leaves) + digest("\n".join(lines).encode())).hex()

    def kept(self):
        for clause in self.clauses:
            (_, kind, _, rate, slack, _), most = clause[0], self.count(clause)[2]
            q = int(rate.split("/")[1])
            if most >= (q if kind == "window" else q * (slack + 1)):
                return False
        return True


def is_sound(text, checkpoints=()):
    """Whether a proof is whole, its chances and its promise are sound, and it leads to these checkpoints."""
    header, *lines = text.removesuffix("\n").split("\n")
    try:
        proof = Proof(header)
        due = {one["entries"]: one["root"] for one in checkpoints}
        need(proof.root() == due.pop(0, proof.root()))
        for sequence, line in enumerate(lines, 1):
            fields = value_of(line)
            need(type(fields) is list and all(whole(one) for one in fields if type(one) is int))
            more = [str] if fields[1] in ("add", "retire", "change") else []
            may_lack = (2, 5, 7, 8, 9)
            for i, one in enumerate(fields[:11]):
                need(type(one) is (int if i in (0, 2, 3) else str) or (one is None and i in may_lack))
            need([type(one) for one in fields[11:]] == more and len(fields) == 11 + len(more))
            need(fields[0] == sequence)
            proof.entry(fields)
            need(sequence not in due or proof.root() == due.pop(sequence))
        return not due and (proof.when != "at every round" or proof.kept())
    except (Wrong, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return False


def is_receipt(receipt, checkpoint):
    """Whether a receipt leads to the root of a checkpoint."""
    chance = receipt["chance"]
    if not (chance is None or number(chance)) or len(receipt["arms"]) > len(receipt["positions"]):
        return False
    bits = struct.pack(">d", chance).hex() if number(chance) else ""
    note = [str(receipt["ticket"]), str(receipt["at"]), ",".join(map(str, receipt["positions"])), bits]
    leaf = digest(b"\x00" + US.join([receipt["digest"], *note, *receipt["arms"]]).encode())
    path = base64.b64decode(receipt["path"])
    beside = [path[i : i + 32] for i in range(0, len(path), 32)]

    def climb(at, size, rest):
        """The head of a tree by the leaf at this place and the nodes beside its way, the last one the topmost."""
        if size == 1:
            need(not rest)
            return leaf
        left = 1 << (size - 1).bit_length() - 1
        need(rest)
        if at < left:
            return digest(b"\x01" + climb(at, left, rest[:-1]) + rest[-1])
        return digest(b"\x01" + rest[-1] + climb(at - left, size - left, rest[:-1]))

    try:
        need(receipt["entries"] == checkpoint["entries"] >= receipt["entry"] >= 1)
        top = climb(receipt["entry"], receipt["entries"] + 1, beside)
    except Wrong:
        return False
    size = receipt["entries"].to_bytes(8, "big")
    return digest(b"\x02" + size + top + bytes.fromhex(checkpoint["books"])).hex() == checkpoint["root"]
