"""Which promises can be kept: whether a rule is known that keeps all clauses, and what may be on offer meanwhile.

The theorems stand at the head of `evenhand.promises.laminar`. What cannot be kept, or is not known to be, is refused
when the promise is made, with as few of its clauses as clash and what would break them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from evenhand.errors import SharesError, Wording, expected, figure
from evenhand.labels import Labels
from evenhand.promises.clause import Clause
from evenhand.promises.reading import MOST_TOKENS, Members, key_of, overlap, scale_down
from evenhand.promises.window_schedules import find_schedule
from evenhand.promises.windows import chain, safe_states
from evenhand.protocol import Label

CLAUSE_KINDS = ("floor", "cap", "window")
"""The kinds of clauses that a rule keeps."""

LOOK = 10_000
"""Rounds up to which a counterexample is looked for."""
LONGEST_LOOK = 100_000
"""Rounds that a look at caps beside several plays may take."""


class Token(NamedTuple):
    """One play in any `window` rounds, kept by one in every `period`."""

    members: Members
    window: int
    period: int


def forest_of(promise: Any) -> tuple[list[Members], list[int]]:
    """Return the owners, the arms and then the sets, the smaller before the larger, and the parent of each, -1 where it
    has none; sets of one size in the order of their arms."""
    sets = dict(promise.sets) | {members: window for members, window in promise.windows if len(members) > 1}
    ordered = sorted(sets, key=lambda one: (len(one), [promise.arms.index(arm) for arm in one]))
    owners = [(arm,) for arm in promise.arms] + ordered
    first = len(promise.arms)
    parents = [
        next((j for j in range(max(first, i + 1), len(owners)) if set(owner) < set(owners[j])), -1)
        for i, owner in enumerate(owners)
    ]
    return owners, parents


def spaced_alone(promise: Any) -> bool:
    """Return whether nothing is promised but windows of single arms, one play a round, every arm on offer."""
    alone = all(clause.kind == "window" and len(clause.arms) == 1 for clause in promise.clauses)
    return bool(promise.windows) and alone and promise.plays == 1 and promise.offers == "all"


def tokens_of(promise: Any) -> list[Token]:
    """Return the tokens of the windows, those of short periods first.

    Where several arms are played in a round, as many tokens of a window may be due at once as a round is sure to offer
    of its arms, one where arms come and go. A window of more plays is kept by fewer tokens of shorter windows: j of
    them come j floor(w / b) times in any w rounds.
    """
    plays = [(members, n, w) for members, (n, w) in promise.windows]
    if promise.plays > 1:
        fixed = promise.offers == "all"
        plays = [(members, *_fewer(n, w, len(members) if fixed else 1)) for members, n, w in plays]
    if sum(n for _, n, _ in plays) > MOST_TOKENS:
        raise SharesError(
            expected("windows", f"at most {MOST_TOKENS:,} plays in all windows", sum(n for _, n, _ in plays))
        )
    alone = [(members, w) for members, n, w in plays for _ in range(n)]
    periods = chain([w for _, w in alone]) if alone else []
    tokens = [Token(members, w, b) for (members, w), b in zip(alone, periods, strict=True)]
    return sorted(tokens, key=lambda token: token.period)


def _fewer(plays: int, rounds: int, most: int) -> tuple[int, int]:
    """Return a window of at most so many plays that keeps this one, of the least density."""
    fewer = [(j, rounds // -(-plays // j)) for j in range(1, min(plays, most) + 1)]
    return min(fewer, key=lambda one: (Fraction(*one), -one[0]))


def settle_offers(promise: Any, given: Any) -> Any:
    """Return what may be on offer under a promise, as the user says, or as much as is known to be possible.

    Raises
    ------
    SharesError
        If no rule is known that keeps the promise so.
    """
    check_kinds(promise.clauses)
    offers = _read_offers(given, promise.arms, promise.plays)
    refused = _refuse_together(promise)
    if refused is None and offers in (None, "all"):
        varied = limits_of(promise) or why_not_varied(promise) if offers is None else "said"
        offers = "all" if varied else "any"
        if offers == "all":
            refused = _refuse_fixed(promise)
    elif refused is None:
        refused = why_not_varied(promise, () if offers == "any" else offers)
    if refused is not None:
        raise SharesError(refused)
    return offers


def check_kinds(clauses: Iterable[Clause]) -> None:
    """Check that a rule is known for every kind of clause, with its theorems.

    Raises
    ------
    SharesError
        If one is of another kind: a log can be audited against it, and no more.
    """
    for clause in clauses:
        if clause.kind not in CLAUSE_KINDS:
            raise SharesError(f"{clause}: no known rule keeps a {clause.kind}; you can only audit a log against it")


def check_sums(promise: Any) -> None:
    """Check that the clauses of a promise leave each other room, whether or not a rule is known that keeps them.

    Raises
    ------
    SharesError
        If they need more than the plays of a round, or a cap allows less than is owed.
    """
    caps = dict(zip(promise.arms, promise.caps or (), strict=False))
    refused = _refuse_caps(promise, caps)
    floors = [] if overlap([members for members, _ in promise.sets]) else promise.clauses
    for kind in ("floor", "window"):
        refused = refused or _refuse_rates([clause for clause in floors if clause.kind == kind], promise.plays)
    if refused is not None:
        raise SharesError(refused)


def _read_offers(given: Any, arms: tuple[Label, ...], plays: int) -> Any:
    if given is None or (isinstance(given, str) and given in ("any", "all")):
        return given
    what = f'"any", "all", or a list of arms of which every offer contains {plays}, as many as are played'
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise SharesError(expected("offers", what, given))
    places = Labels(arms).places(given)
    if len(places) < plays or -1 in places or len(set(places)) < len(places):
        raise SharesError(expected("offers", what, given, Wording("the arms are ", list(arms))))
    return tuple(arms[place] for place in sorted(places))


# ---------------------------------------------------------------------- whatever is on offer


def _refuse_together(promise: Any) -> str | None:
    """Return why no rule is known that keeps these clauses together, whatever is on offer; None where one is."""
    sets = [members for members, _ in promise.sets]
    windowed = [members for members, _ in promise.windows]
    for name, named in (("shares", sets), ("windows", [*sets, *windowed])):
        if clash := overlap(named):
            return f"{name}: {clash[0]} and {clash[1]} overlap; one must contain the other or share no arm with it"
    if promise.windows and promise.plays > 1 and (promise.owes or promise.caps):
        other = "shares" if promise.owes else "caps"
        beside = f"{other} with plays={promise.plays}"
        return f"windows: no known rule keeps windows together with {beside}; use one play per round"
    for members, share in [*zip(zip(promise.arms), promise.shares, strict=True), *promise.sets]:
        if share > len(members):
            most = f"at most {len(members)}, as no arm is played twice in a round"
            return expected(f"shares[{key_of(members)!r}]", most, str(share))
    return _refuse_rates([clause for clause in promise.clauses if clause.kind != "cap"], promise.plays)


def _refuse_rates(owed: list[Clause], plays: int) -> str | None:
    """Return which floors and windows need more than the plays of a round, and by when; None where none do."""
    needed = _rate(owed)
    if needed <= plays:
        return None
    few = _fewest(owed, lambda some: _rate(some) > plays)
    rate, names = _rate(few), "; ".join(map(str, few))
    example = next((t for t in range(1, LOOK) if _due(few, t) > plays * t), None)
    shown = "" if example is None else f": {_due(few, example)} plays fall due in the first {example:,} rounds"
    windows = [set(clause.arms) for clause in few if clause.kind == "window"]
    by = f"more than {plays} by {figure(float(rate - plays))}"
    if not windows:
        hint = f"scale them by {scale_down(plays / needed)} or lower"
    elif len(windows) == len(few):
        hint = f"make them {figure(float(needed / plays))} times as long, or longer"
    else:
        hint = "lower the shares or lengthen the windows"
    both = next((clause for clause in few if clause.kind == "window" and _is_owed(few, clause.arms)), None)
    if both is not None:
        who = f"arm {both.arms[0]!r}" if len(both.arms) == 1 else f"arms {both.arms}"
        return (
            f"windows: no known rule counts a play of {who} both for its window and for a share unless there is room "
            f"for both, and together these need {figure(float(rate), 12)} plays per round, {by} ({names}); "
            f"{hint}, or drop one of them"
        )
    name = "windows" if len(windows) == len(few) else "shares"
    return f"{name}: together these need {figure(float(rate), 12)} plays per round, {by}{shown} ({names}); {hint}"


def _is_owed(clauses: Sequence[Clause], arms: Members) -> bool:
    """Return whether a share is owed to one of these arms, alone or together with others."""
    return any(clause.kind == "floor" and set(arms) & set(clause.arms) for clause in clauses)


def _rate(clauses: Sequence[Clause]) -> Fraction:
    """Return the plays a round that floors and windows need: of a set its own rate, or that of its parts if it is
    more."""
    windows = sum((Fraction(*clause.rate) for clause in clauses if isinstance(clause.rate, tuple)), Fraction(0))
    return windows + need_of(clauses, lambda clause: clause.rate)


def _due(clauses: Sequence[Clause], rounds: int) -> int:
    """Return how many plays fall due in so many rounds."""
    windows = sum(n * (rounds // w) for n, w in (c.rate for c in clauses if isinstance(c.rate, tuple)))
    return windows + need_of(clauses, lambda clause: max(0, math.floor(clause.rate * rounds - clause.slack)))


def need_of(clauses: Sequence[Clause], amount: Callable[[Any], Any]) -> Any:
    """Return the sum over the outermost floors of what each needs, or its parts together if that is more."""
    each: list[Any] = []
    outermost: dict[Label, int] = {}
    for clause in sorted((c for c in clauses if c.kind == "floor"), key=lambda c: len(c.arms)):
        inside = {outermost[arm] for arm in clause.arms if arm in outermost}
        outermost.update(dict.fromkeys(clause.arms, len(each)))
        # smaller sets come first, so `inside` are the children; a play of a child counts for its parent as well
        each.append(max(amount(clause), sum(each[part] for part in inside)))
        for part in inside:
            each[part] = 0
    return sum(each)


def _fewest(clauses: list[Clause], clash: Callable[[list[Clause]], bool]) -> list[Clause]:
    """Return clauses that clash, none of which may be left out."""
    few = list(clauses)
    for clause in clauses:
        without = [other for other in few if other is not clause]
        if clash(without):
            few = without
    return few


# ---------------------------------------------------------------------- every arm on offer


def _refuse_fixed(promise: Any) -> str | None:
    """Return why a promise cannot be kept although every arm is always on offer; None where it can."""
    caps = dict(zip(promise.arms, promise.caps or (), strict=False))
    return _refuse_caps(promise, caps) or (_refuse_windows(promise, caps) if promise.windows else None)


def _refuse_caps(promise: Any, caps: dict[Label, Fraction | None]) -> str | None:
    for arm, share in zip(promise.arms, promise.shares, strict=True):
        cap = caps.get(arm)
        if cap is not None and cap < share:
            return expected(
                f"caps[{arm!r}]", f"at least its share {share}", str(cap), "raise the cap or lower the share"
            )
    most = [Fraction(1) if cap is None else cap for cap in caps.values()]
    if caps and sum(most) < promise.plays:
        lacks = f"raise them by {figure(float(promise.plays - sum(most)))} in total, or leave one arm uncapped"
        why = "every round plays an arm" if promise.plays == 1 else f"every round plays {promise.plays} arms"
        return expected("caps", f"a sum of at least {promise.plays}, as {why}", float(sum(most)), lacks)
    for members, share in promise.sets:
        allowed = sum((Fraction(1) if caps.get(arm) is None else caps[arm]) or Fraction(0) for arm in members)
        if caps and share > allowed:
            return expected(f"shares[{members!r}]", f"at most {allowed}, what the caps of these arms allow", str(share))
    return _refuse_fine_caps(promise, caps) if promise.plays > 1 and caps else None


def _refuse_fine_caps(promise: Any, caps: dict[Label, Fraction | None]) -> str | None:
    """Return why caps beside several plays would need too long a look ahead: it ends when they leave room for one play
    more of each arm, or when everything comes again."""
    most = {arm: Fraction(1) if cap is None else cap for arm, cap in caps.items()}
    floors = (clause for clause in promise.clauses if clause.kind == "floor")
    owed = [(clause.arms, clause.rate) for clause in floors if isinstance(clause.rate, Fraction)]
    cycle = math.lcm(*(rate.denominator for _, rate in owed), *(cap.denominator for cap in most.values()))
    for arms, rate in [(promise.arms, Fraction(promise.plays)), *owed]:
        gap = sum((most[arm] for arm in arms), Fraction(0)) - rate
        if gap * LONGEST_LOOK < len(arms) + 1 and cycle > LONGEST_LOOK:
            who = "all arms" if arms == promise.arms else f"arm {arms[0]!r}" if len(arms) == 1 else f"arms {arms}"
            what = f"caps of {who} that leave more room than {figure(float(gap), 3)}, as {promise.plays} are played"
            hint = f"or write shares and caps as fractions whose common denominator is at most {LONGEST_LOOK:,}"
            return expected("caps", what, ", ".join(str(most[arm]) for arm in arms[:5]), hint)
    return None


def _refuse_windows(promise: Any, caps: dict[Label, Fraction | None]) -> str | None:
    capped = next((arm for members, _ in promise.windows for arm in members if caps.get(arm) is not None), None)
    if capped is not None:
        return f"windows: arm {capped!r} has a window and a cap, and no known rule keeps both; drop one of them"
    tokens = tokens_of(promise)
    needed = sum((Fraction(1, token.period) for token in tokens), need_of(promise.clauses, lambda clause: clause.rate))
    if needed <= promise.plays:
        return None
    if all(clause.kind == "window" and len(clause.arms) == 1 for clause in promise.clauses) and promise.plays == 1:
        return _refuse_schedule([token.window for token in tokens])
    return (
        f"windows: no schedule is found for them: kept by periods that divide one another, as {_periods(tokens)}, the "
        f"clauses need {figure(float(needed))} plays per round; lengthen some windows until that is at most "
        f"{promise.plays}"
    )


def _refuse_schedule(lengths: list[int]) -> str | None:
    """Return why windows alone have no schedule, by a table of all states or a search; None where they have one."""
    density = figure(float(sum(Fraction(1, length) for length in lengths)))
    safe = safe_states(lengths)
    if safe is not None:
        if safe[tuple(length - 1 for length in lengths)]:
            return None
        return f"windows: no schedule keeps them, at {density} of the rounds; lengthen some of them"
    if find_schedule(lengths) is not None:
        return None
    return (
        f"windows: no schedule was found for them, at {density} of the rounds, though there may be one; lengthen some "
        "of them, best to one number times 1, 2, 4, 8 and so on"
    )


def _periods(tokens: Sequence[Token]) -> str:
    said = dict.fromkeys(f"{token.period} for {token.window}" for token in tokens)
    return ", ".join([*said][:5]) + (" ..." if len(said) > 5 else "")


# ---------------------------------------------------------------------- arms that come and go


def limits_of(promise: Any) -> dict[Label, Fraction]:
    """Return the caps below 1."""
    caps = zip(promise.arms, promise.caps or (), strict=False)
    return {arm: cap for arm, cap in caps if cap is not None and cap < 1}


def why_not_varied(promise: Any, always: Sequence[Label] = ()) -> str | None:
    """Return why a promise cannot be kept, or is not known to be, where arms come and go; None where it can.

    Every offer holds as many of the arms `always` as are played, or no other arm.
    """
    return next(_reasons_against(promise, always), None)


def _possible(promise: Any, hint: str) -> Wording:
    """Return what may be said of the offers of a promise with caps; why not more, where arms may not come and go."""
    free = [arm for arm in promise.arms if arm not in limits_of(promise)]
    named = ("name some of ", free, ", ") if free and why_not_varied(promise, free) is None else ()
    against = why_not_varied(promise)
    if against is None:
        return Wording(*named, 'say offers="any", or ' if named else 'say offers="any" or ', hint.removeprefix("say "))
    return Wording(*named, "or " * bool(named), hint, "" if named else f'; "any" is refused as well: {against}')


def _reasons_against(promise: Any, always: Sequence[Label]) -> Iterator[str]:
    hint = 'say offers="all"'
    for members, share in promise.sets:
        if share > 1:
            yield (
                f"offers: a share of {share} for {members} needs more than one of these arms in some rounds, and an "
                f"offer may hold only one of them; {hint}"
            )
    caps = limits_of(promise)
    both = [arm for arm in always if arm in caps]
    if both:
        yield expected("offers", "arms without caps, as an arm may be at its cap", both[0], _possible(promise, hint))
    if caps and not promise.windows:
        yield from _reasons_against_caps(promise, caps, hint, excused=not always)
    if not promise.windows:
        return
    if any(clause.kind != "window" for clause in promise.clauses):
        yield f"offers: no known rule keeps windows together with shares or caps while arms come and go; {hint}"
    tokens = tokens_of(promise.varied(offers="any"))
    short, least = min(token.window for token in tokens), -(-len(tokens) // promise.plays)
    if short < least:
        yield (
            f"offers: while arms come and go, a window must be at least {least} rounds long, one for each of the "
            f"{len(tokens)} plays that are owed, and the shortest is {short}: offer its arm beside one of the others "
            f"at a time, and one of them loses a round for good each time; lengthen it, or {hint}"
        )


def _reasons_against_caps(promise: Any, caps: dict[Label, Fraction], hint: str, *, excused: bool) -> Iterator[str]:
    """Yield why a promise with caps cannot be kept, or is not known to be; `excused` where an offer may hold none but
    capped arms."""
    owed = [clause for clause in promise.clauses if clause.kind == "floor"]
    both = [clause for clause in owed if not caps.keys().isdisjoint(clause.arms)]
    what = next((f"a cap of an arm and a share of several ({one})" for one in both if len(one.arms) > 1), None)
    if promise.plays > 1 and (both or excused):
        what = f"these caps with plays={promise.plays}"
    if what is not None:
        yield f"offers: no known rule keeps {what} while arms come and go; {hint}"
    refused = _refuse_caps(promise, dict(zip(promise.arms, promise.caps, strict=True))) if both or excused else None
    if refused is not None:
        yield refused
    enough = max((_enough_ahead(clause, owed, caps[clause.arms[0]]) for clause in both), default=0)
    if promise.ahead < enough:
        less = "as no known rule keeps less where arms with a share and a cap come and go"
        tolerance = f"at least {enough}, {less}: what is owed may have to come early, when others fall due"
        yield expected("cap_tolerance", tolerance, promise.cap_tolerance, f"or {hint}")


def _enough_ahead(floor: Clause, owed: list[Clause], cap: Fraction) -> int:
    """Return the tolerance of a cap from which on no play that the arm is owed has to break it; see Theorem 2 of
    `evenhand.promises.laminar`."""
    others = [clause for clause in owed if clause is not floor]
    crowd = need_of(others, lambda clause: 1 - Fraction(1, clause.rate.denominator))
    spare = (1 - need_of(owed, lambda clause: clause.rate)) / floor.share
    return max(0, math.floor((crowd - spare) / (1 + spare) - floor.slack - cap) + 1)
