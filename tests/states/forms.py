"""Policies of each form that the rule of a promise once had, saved in mid-run, and what they decided next.

python -m tests.states.forms writes them anew, by the version of evenhand that is installed: forms/ was written by the
last one in which floors with caps, several plays or offers, nested sets, and windows alone had rules of their own.
"""

from __future__ import annotations

import json
from pathlib import Path

import evenhand as eh
from evenhand.learners import KLUCB, UCB1, Thompson
from evenhand.quotas import DeadlineLearn, LotteryLearn, WindowLearn

FORMS = Path(__file__).parent / "forms"
ARMS = list("abcdef")
SETS = {("a", "b"): "1/4", ("a", "b", "c"): "1/3", "d": "1/5", "e": "1/20", "f": 0}
FLOORS = {"a": "1/4", "b": "1/5", "c": "1/10", "d": "1/20", "e": 0, "f": 0}
LONG = {"a": 17, "b": 23, "c": 40, "d": 41, "e": 60}
"""Windows of too many combinations of times left for a table."""

MADE = {
    "caps": lambda: DeadlineLearn(UCB1(), FLOORS, 1.0, caps={"e": "2/5", "f": "1/3", "a": "1/2"}, seed=1),
    "behind": lambda: DeadlineLearn(Thompson(), FLOORS, behind=dict.fromkeys(ARMS, 2), seed=2),
    "slates": lambda: DeadlineLearn(UCB1(), {arm: f"{n}/8" for n, arm in enumerate(ARMS)}, plays=2, seed=3),
    "slates and offers": lambda: DeadlineLearn(Thompson(), {a: f"{n}/8" for n, a in enumerate(ARMS)}, plays=2, seed=4),
    "offers": lambda: DeadlineLearn(Thompson(), FLOORS, seed=5),
    "segments": lambda: DeadlineLearn(KLUCB(), FLOORS, seed=6),
    "sets": lambda: DeadlineLearn(UCB1(), SETS, seed=7),
    "sets and segments": lambda: DeadlineLearn(Thompson(), SETS, 1.0, seed=8),
    "changes": lambda: DeadlineLearn(UCB1(), FLOORS, seed=9),
    "windows by a table": lambda: WindowLearn(UCB1(), {"a": 4, "b": (2, 9)}, ARMS, seed=10),
    "windows by periods": lambda: WindowLearn(Thompson(), LONG, ARMS, seed=11),
    "windows by a schedule": lambda: WindowLearn(UCB1(), dict(zip("abcde", (4, 5, 6, 11, 30), strict=True)), ARMS),
    "lottery": lambda: LotteryLearn(Thompson(), FLOORS, 2.0, seed=12),
}


def told(policy, name, rounds):
    """Play some rounds and return what was decided in each, with its reason."""
    decided = []
    for _ in range(rounds):
        n = policy.round
        more = {"segment": "xyz"[n * n % 7 % 3]} if "segments" in name else {}
        if "offers" in name and n % 3:
            more["available"] = [arm for place, arm in enumerate(ARMS) if (n + place * place) % 4]
        decision = policy.ask(**more)
        arms = decision.arms if policy.plays > 1 else (decision.arm,)
        decided.append([*arms, decision.reason_code])
        rewards = {arm: (n * 7 + ord(arm) * 3) % 10 / 10 for arm in arms}
        policy.tell(decision, rewards if policy.plays > 1 else rewards[arms[0]])
        if name == "changes" and policy.round == 11:
            policy.retire("d")
    return decided


def main() -> None:
    FORMS.mkdir(exist_ok=True)
    found = {}
    for name, make in MADE.items():
        policy = make()
        told(policy, name, 60)
        eh.save(policy, FORMS / f"{name.replace(' ', '-')}.state")
        found[name] = told(policy, name, 120)
    (FORMS / "next.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
