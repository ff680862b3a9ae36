"""`evenhand new`: create a study, a policy in a store."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.cli.inputs.causal_data import fitted_model, model_in
from evenhand.cli.inputs.inputs import (
    labels_in,
    limits_of,
    named_shares,
    one_each,
    read_object,
    setting_of,
    shares_of,
)
from evenhand.cli.inputs.policies import check_limits, describe, lifted, put
from evenhand.cli.inputs.promises import described_promises, names_arms
from evenhand.cli.inputs.tables import read_log, read_table
from evenhand.cli.options import FORM, JSON, Options
from evenhand.cli.output import as_json, print_text, say_notes
from evenhand.data.tables import column, numbers
from evenhand.descriptions.policies import policy_from
from evenhand.errors import ArgumentError, Wording, expected
from evenhand.interventions import CausalModel
from evenhand.labels import Labels
from evenhand.policy import deterministic
from evenhand.policy.kernel_policy import KernelPolicy
from evenhand.policy.traits import traits_of
from evenhand.promises.clause import in_words, listed
from evenhand.promises.promise import how_counted
from evenhand.studies import Study
from evenhand.studies.store.address import typed_address

ALONE = "No other arm is on offer; add arms with --arms, or with --arms-from LOG --arm COLUMN."
LEARNS = "with --learn LOG --arm COLUMN --reward COLUMN it learns from rewards first."
EXPLORES = (
    "In round t an arm is drawn at random with probability t^(-{:.3g}), the paper's setting, which its bound needs. "
    "--set exploration=50 draws none after the first round: in the paper's worlds, over 1,000 rounds, the true "
    "regret is then 0.6 instead of 3.7 a round."
)
BLIND = "This log cannot show what another policy would have earned, as some arms have no chance in some rounds."
DRAWN = "To make it possible, write lottery = 0.5 next to the promise (--set lottery=0.5 with deadline-learn)."


@Options(
    tables="shares",
    beside={
        "--arms": "not --arms-from",
        "--arm": "--arms-from --learn",
        "--reward": "--learn",
        "--cap --window": "not --promise",
        "--expire-reward": "--expire-after",
        FORM: "--shares --arms-from --learn --spec --promise --groups",
    },
    arguments={"learner": "--policy", "policies": "--policy"},
)
def new(
    store: str,
    *,
    policy: Annotated[str, typer.Option("--policy", "-p")] = "",
    shares: str = "",
    arms: str = "",
    arms_from: Path | None = None,
    learn: Path | None = None,
    arm: str = "arm",
    reward: str = "reward",
    cap: str = "",
    window: str = "",
    tolerance: float | None = None,
    groups: str = "",
    sensitive: str = "",
    seed: int | None = None,
    name: str | None = None,
    expire_after: str | None = None,
    expire_reward: float | None = None,
    settings: Annotated[list[str] | None, typer.Option("--set")] = None,
    spec: Path | None = None,
    promise: Path | None = None,
    json: JSON = False,
) -> None:
    """Create a study: a policy in a store, where every decision and reward is saved.

    Parameters
    ----------
    store : A file such as ads.evenhand, or a URL such as postgresql://me@host/db.
    policy : fair-ucb, fair-learn+thompson, ...
    shares : Promised share of each arm: a=0.2,b=1/3, or 0.2 with --arms, or a CSV or JSON file.
    arms : Labels a,b,c, or the number of arms, or JSON such as ["a,b", 17].
    arms_from : A log whose arms, in the column --arm, are on offer.
    learn : A log of earlier decisions, from which the policy learns before its first; the promise counts none of them.
        Its arms are on offer unless --arms, --arms-from or --spec are given, or --promise has a list of arms; rows of
        others are then left out.
    arm : The column of --arms-from and --learn with the arm of each decision.
    reward : The column of --learn with its reward, in [0, 1].
    cap : The most that an arm may have: 0.5, or a=0.5,b=1/3; a play that begins a further part of it is allowed.
    window : Least plays in any consecutive rounds: a=2/25,b=10 is twice in any 25, once in any 10.
    tolerance : By how many plays an arm may be behind its share.
    groups : Group of each arm: a=men,b=women, or a JSON file or object.
    sensitive : The group that two-group-top-interval favours.
    seed : The seed; by default drawn at random.
    name : The study's name; by default the file's name.
    expire_after : How long a ticket may stay open: 90s, 12h, 7d; by default for ever.
    expire_reward : The reward of a ticket that expires, such as 0 where only clicks are reported; by default none.
    settings : Another argument of the policy, horizon=1000; may be repeated.
    spec : JSON file with the policy, {"policy": "quotas/fair-ucb", ...}; options override it.
    promise : TOML or JSON file with a table promise and, next to it, learner, arms, lottery.
    """
    listed_in = arms or spec is not None or arms_from or (promise is not None and names_arms(promise))
    named_by = arms_from if listed_in else learn
    labels, told = _arms(arms, named_by, arm)
    described = {} if spec is None else _described(spec)
    if promise is not None:
        if policy or described or shares or tolerance is not None:
            hint = "the file holds them; only --arms can be added"
            what = "without --policy, --spec, --shares and --tolerance"
            raise ArgumentError(expected("--promise", what, Wording("both"), hint))
        described = described_promises(promise, arms=labels)
    if policy:
        named = describe(policy)
        described = named | described | (named if "+" in policy else {"policy": named["policy"]})
    if not described:
        raise ArgumentError("--policy: name a policy, such as fair-ucb, or pass --spec FILE or --promise FILE")
    given = {"tolerance": tolerance, "seed": seed} | _labels(labels, shares, groups)
    given["sensitive"] = lifted(policy, sensitive or None)
    set_too = _settings(settings or [])
    limits = limits_of(cap, window, None if "cap_tolerance" in set_too else tolerance)
    check_limits(limits, described)
    if limits and not shares:
        given["shares"] = {str(arm): 0 for arm in (range(labels) if isinstance(labels, int) else labels or ())} or None
    given |= limits
    for option, value in given.items():
        if value is not None:
            put(described, option, value)
    described |= set_too
    made = policy_from(described, bounded=False)
    learned, left_out = (0, {}) if learn is None else _learn(made, learn, arm, reward)
    study = Study.create(store, made, name=name, expire_after=expire_after, expire_reward=expire_reward)
    with study:
        known = labels is not None or "arms" in described
        policy_name, labels = study.log.birth.policy, list(traits_of(made).labels)
        if json:
            seeded = getattr(made, "seed", None)
            stated = study.statistics().promise
            counted = {} if stated is None else stated.to_dict()
            body = {"name": study.name, "policy": policy_name, "arms": labels, "seed": seeded}
            body |= {name: counted[name] for name in ("weight", "clock") if name in counted}
            as_json(body | ({"learned": learned, "left_out": left_out} if learn else {}))
            return
        other = "" if len(study.store.names()) == 1 else f" --study {study.name}"
        print_text(f"Created study {study.name!r} ({policy_name}) in {study.store.url}")
        print_text(*_about(study, made, known))
        if learned:
            rest = f"; left out: {sum(left_out.values()):,} of arms that are not on offer, {listed([*left_out])}"
            print_text(
                f"Learned from {learned:,} rows of {learn}; the promise counts none of them{rest * bool(left_out)}."
            )
        elif told:
            print_text(f"It starts without experience: of {arms_from} only the arms were read; {LEARNS}")
        from evenhand.quotas.quota_policy import BY_RULE

        say_notes(made, BY_RULE)  # nothing has cost anything yet
        place = f"{typed_address(study.store.url)}{other}"
        print_text(f"next: evenhand ask {place}{_asked(made)}    then: evenhand tell {place} TICKET {_told(made)}")


def _learn(policy: Any, log: Path, arm: str, reward: str) -> tuple[int, dict[Any, int]]:
    """Have a policy learn from the rows of a log whose arm is on offer, if there are any; return how many these are,
    and how many of each other arm."""
    if not isinstance(policy, KernelPolicy):
        raise ArgumentError(expected("--learn", "a --policy that learns rewards of arms", type(policy).__name__))
    frame = read_table(log, text=[arm])
    labels, known = column(frame, arm).tolist(), Labels(traits_of(policy).arms or ())
    there = np.array(known.places(labels)) >= 0
    numbers(frame, reward, *policy._rewards)  # before rows are left out, so that a refusal names the row of the file
    policy.learn(frame[there] if there.any() else frame, arm=arm, reward=reward)
    return int(there.sum()), Counter(label for label in labels if label not in known)


def _about(study: Study, policy: Any, known: bool) -> list[str]:
    """Return what is on offer, what is promised, and what this log will not show; `known` says that arms are named
    beside the promise."""
    statistics = study.statistics()
    clauses, arms = statistics.promise.clauses if statistics.promise else (), traits_of(policy).arms or ()
    lines = [f"On offer are {len(arms)} arms: {listed(arms)}."] if arms else []
    if clauses:
        others = len(arms) - len({arm for clause in clauses for arm in clause.arms})
        rest = f"; nothing to {'the other' if others == 1 else f'the {others} others'}" if others else ""
        lines.append(f"Promised: {'; '.join(in_words(clauses))}{rest}.")
        lines += [f"{said[0].upper()}{said[1:]}." for said in how_counted(statistics.promise)]
        lines += [] if known else [ALONE]
    from evenhand.quotas.quota_policy import QuotaPolicy

    drawn = isinstance(policy, QuotaPolicy) and policy._drawn
    kept = policy.promise if isinstance(policy, QuotaPolicy) else None
    no_lottery = kept is not None and (kept.weight is not None or kept.excuses)  # none is known that keeps it
    ours = isinstance(policy, KernelPolicy) and not drawn
    if ours and (clauses or (arms and policy._kernels.probability is deterministic)):
        lines.append(BLIND if no_lottery else f"{BLIND} {DRAWN}")
    from evenhand.groups import GroupFairTopInterval, IntervalChaining, TopInterval

    if isinstance(policy, GroupFairTopInterval | IntervalChaining | TopInterval) and policy.exploration < math.inf:
        lines.append(EXPLORES.format(policy.exploration))
    return lines


def _asked(policy: Any) -> str:
    """Return the options without which the shell cannot ask this policy."""
    traits = traits_of(policy)
    sees = "contexts" in inspect.signature(policy.ask).parameters and traits.contextual is not False
    shown = " --scores FILE" if traits.scored else " --contexts FILE" if sees else ""
    weighs = traits.promise is not None and traits.promise.weight is not None
    return f"{shown} --weight WEIGHT" if weighs and traits.promise.in_flight is None else shown


def _told(policy: Any) -> str:
    """Return how the shell tells the rewards of this policy, and weights that are known only then."""
    told = {"rows": "--rows FILE --label COLUMN", "samples": "--samples FILE", "reward": "REWARD", "labels": "LABEL"}
    traits = traits_of(policy)
    later = traits.promise is not None and traits.promise.in_flight is not None
    return told[traits.feedback] + " --weight WEIGHT" * later


def _described(path: Path) -> dict[str, Any]:
    """Read the policy's description; the causal model of a search may be named by its BIF file."""
    body = read_object(path)
    problem = body.get("problem")
    named = problem.get("model") if isinstance(problem, dict) else None
    if isinstance(named, str) or (isinstance(named, dict) and "data" in named):
        model = _causal_model(named)
        tables = {node: table.tolist() for node, table in model.tables.items()}
        body["problem"]["model"] = {"states": model.states, "parents": model.parents, "tables": tables}
    return body


def _causal_model(named: str | dict[str, Any]) -> CausalModel:
    """Return the model in a BIF file, or one fitted to a file of observations, {"data": FILE, "edges": "a -> b"}."""
    if isinstance(named, str):
        return model_in(named)
    given = {"smoothing": 1.0, "cut": [], **named}
    if set(given) != {"data", "edges", "smoothing", "cut"} or not isinstance(given["cut"], list):
        what = 'an object {"data": FILE, "edges": "a -> b", "cut": ["age=25,45"], "smoothing": 1}'
        raise ArgumentError(expected("problem.model", what, named))
    if not isinstance(given["data"], str) or not all(isinstance(cut, str) for cut in given["cut"]):
        raise ArgumentError(expected("problem.model", "the name of a file as data, and texts as cut", named))
    return fitted_model(Path(given["data"]), given["edges"], given["smoothing"], given["cut"])


def _labels(labels: Any, shares: str, groups: str) -> dict[str, Any]:
    """Read what is said about arms, with text as the keys of objects."""
    owed: Any = (named_shares(shares) or one_each(shares) or shares) if shares else None
    if isinstance(owed, (dict, list)) and labels is not None:
        every = range(labels) if isinstance(labels, int) else labels
        owed = {str(arm): share for arm, share in shares_of(shares, list(every)).items()}
    members = named_shares(groups, "--groups") if groups else None
    if groups and members is None:
        raise ArgumentError(expected("--groups", "ARM=GROUP,ARM=GROUP, or a JSON file or object", groups))
    return {"arms": labels, "shares": owed, "groups": members}


def _arms(text: str, log: Path | None, column: str) -> tuple[Any, bool]:
    """Return the labels of the arms, or their number, None where they are not named; and whether the log that names
    them tells more."""
    if log is not None:
        frame, labels = read_log(log, column, [column])
        return labels, isinstance(frame, str) or len(frame.columns) > 1
    return int(text) if text.isdigit() else labels_in(text, "--arms") if text else None, False


def _settings(pairs: list[str]) -> dict[str, Any]:
    """Read NAME=VALUE."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ArgumentError(expected("--set", "NAME=VALUE", pair))
        settings[name] = setting_of(value)
    return settings
