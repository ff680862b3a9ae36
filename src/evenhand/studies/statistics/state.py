"""The present state of a study as plain data, for the shell and the service alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from evenhand.errors import ArgumentError, EvenhandError, StateFileError
from evenhand.learners.functions import not_repeated
from evenhand.policy.traits import traits_of
from evenhand.promises.clause import AT_MOST, in_words
from evenhand.promises.clause_counts import Excused, Outage
from evenhand.promises.versions import changed
from evenhand.quotas.quota_policy import QuotaPolicy
from evenhand.studies.log.codec import moment, revive
from evenhand.studies.log.operations import apply
from evenhand.studies.statistics.statistics import RECENT, Statistics

if TYPE_CHECKING:
    from evenhand.studies.study import Study


def outline(study: Study, statistics: Statistics) -> dict[str, Any]:
    """Return a study in a line: `name`, `policy`, `created`, `decisions`, `told`, `open`, and whether its `promise` is
    "kept" or "broken", None where that is not said."""
    promise = {True: "kept", False: "broken", None: None}[statistics.kept]
    return {**_counts(study, statistics), "promise": promise}


def _counts(study: Study, statistics: Statistics) -> dict[str, Any]:
    return {
        "name": study.name,
        "policy": study.log.birth.policy,
        "created": study.created,
        "decisions": statistics.rounds,
        "told": statistics.told,
        "open": len(statistics.open),
    }


def summarize(study: Study, statistics: Statistics | None = None) -> dict[str, Any]:
    """Return a study's counts, arms, promise, reward, learned bias and groups.

    `statistics` are the study's, where the caller has them. `feedback` is what its decisions are told: "reward", "rows"
    or "samples".

    Of each arm: `label`, `group` (where there are groups), `decisions`, `weight` (told so far, where shares of a weight
    are promised), `share` (of the decisions, or the weight), `promised`, `owed` (r_i t - N_i now),
    `reward` (mean), `last_owed_round`; None where there is none. `promise`: `when`, `kept`, `tolerance`, `broken_from`
    (the shortfall that breaks it; both None where no shares are promised, and this where a weight is: there more than
    `tolerance` does), `weight` (what is shared, where it is not rounds), `worst_shortfall`, `worst_arm`,
    `worst_round`, `rounds_in_violation`, and where there are any `plays` (above one), `caps` (`label`, `cap`), `sets`
    (`arms`, `share`), `windows` (`label`, or the `arms` of a set, `plays`, `rounds`), `retired`, `clock` ("all"),
    `outages` (of arms with a share: `label`, `rounds` away, `behind` now by all rounds, `first` and `last` such
    round, `first_at`, `last_at`), `excused` (`plays` that no cap counts, and the same),
    `history`: what was promised from each change on (`round`, `at`, `kind`, `shares`: `label`, `share`, and `others`,
    such as caps and windows, in words), `planned`: the changes that are due later (`begins`, `promises` in words), and
    `refused`: those that could not be made (`begins`, `why`). `reward`: `mean`, `recent`, `window`. `bias`: rows of
    `group`, `reference`, `feature`, `bias`, `low`, `high`. `groups`: `label`, `share`. `notes`: what to know before
    believing the rewards, in sentences.
    """
    statistics = study.statistics() if statistics is None else statistics
    policy, missing = described(study, statistics)
    traits = traits_of(policy)
    bias = _bias(traits.bias)
    return {
        **_counts(study, statistics),
        "sequence": statistics.sequence,
        "forgotten": statistics.forgotten,
        "feedback": traits.feedback,
        "arms": _arms(statistics, traits.membership),
        "promise": _promise(statistics, study, None if missing else policy),
        "reward": None
        if statistics.reward is None
        else {"mean": statistics.reward[0], "recent": statistics.reward[1], "window": RECENT},
        "bias": bias,
        "groups": _groups(statistics),
        "notes": [*missing, *statistics.notes],
    }


def described(study: Study, statistics: Statistics) -> tuple[Any, list[str]]:
    """Return a policy that says of itself what it is, and what is missing of it: a copy without its open tickets; where
    functions of its learner are not here, the policy as it was at first, but with what is promised now."""
    try:
        return study.state.bare_copy(), []
    except StateFileError:
        policy, absent = study.log.first()
        if not absent:
            raise
        if isinstance(policy, QuotaPolicy):
            policy.promise = statistics.promise
        return policy, [f"{not_repeated(absent)}, and what it has learned is not shown"]


def _arms(statistics: Statistics, membership: Any) -> list[dict[str, Any]]:
    promised = None if statistics.promise is None else statistics.promise.floats()
    owed, weights = statistics.owed, statistics.weights
    counted = statistics.counts if weights is None else weights
    total = float(counted.sum()) if weights is not None else statistics.rounds
    clauses = () if statistics.promise is None else statistics.promise.clauses
    owing = {arm for clause in clauses if clause.kind not in AT_MOST for arm in clause.arms}
    rows = []
    for i, label in enumerate(statistics.labels):
        told = int(statistics.rewarded[i])
        row = {
            "label": label,
            **({} if membership is None else {"group": membership.names[membership.codes[i]]}),
            "decisions": int(statistics.counts[i]),
            **({} if weights is None else {"weight": float(weights[i])}),
            "share": float(counted[i]) / total if total else None,
            "promised": None if promised is None else float(promised[i]),
            "owed": None if owed is None else float(owed[i]),
            "reward": float(statistics.rewards[i]) / told if told else None,
            "last_owed_round": (int(statistics.last_owed[i]) or None) if label in owing else None,
        }
        rows.append(row)
    return rows


def _promise(statistics: Statistics, study: Study, policy: Any) -> dict[str, Any] | None:
    if statistics.when is None:
        return None
    promise = statistics.promise
    owed, weighed = promise.owes, promise.weight is not None
    stated = {"when": statistics.when, "kept": statistics.kept, "tolerance": promise.tolerance if owed else None}
    stated["broken_from"] = promise.slack + 1.0 if owed and not weighed else None
    stated |= {"weight": promise.weight} if weighed else {}
    stated |= {"clock": promise.clock} if promise.clock != "offered" else {}
    beside = _beyond_shares(statistics) | _outages(statistics, study)
    return stated | statistics.worst_case() | beside | _planned(statistics, study, policy)


def _outages(statistics: Statistics, study: Study) -> dict[str, Any]:
    """Return when arms were away, and the plays that no cap counts."""

    def dated(one: Outage | Excused) -> dict[str, Any]:
        first, last = (
            study.log.record(round).at for round in (one.first, one.last)
        )  # a round's number is its ticket's
        return one._asdict() | {"first_at": first, "last_at": last}

    outages = [{"label": arm} | dated(one) for arm, one in statistics.outages.items()]
    found = {"outages": outages} if outages else {}
    return found | ({"excused": dated(statistics.excused)} if statistics.excused.plays else {})


def _planned(statistics: Statistics, study: Study, policy: Any) -> dict[str, Any]:
    """Return the changes that are due later, and those that were refused when they were, as the policy would make them;
    where it is None, as far as they are a promise."""
    setting, planned, promise = study.log.setting, [], statistics.promise
    for plan in setting.get("planned", ()):
        given = revive(plan["given"])
        try:
            if policy is None:
                promise = changed(promise, statistics.retired, **given)
            else:
                apply(policy, "change", None, given)
                promise = traits_of(policy).promise
            promises = in_words(promise.clauses)
        except EvenhandError as refusal:  # such as for an arm that was retired since, and may come back
            promises = [f"as things stand it would be refused: {refusal}"]
        planned.append({"begins": moment(plan["begins"]), "promises": promises})
    refused = [{**one, "begins": moment(one["begins"])} for one in setting.get("refused", ())]
    return {name: value for name, value in {"planned": planned, "refused": refused}.items() if value}


def _beyond_shares(statistics: Statistics) -> dict[str, Any]:
    """Return what is promised beside shares of single arms that stay as they are."""
    promise = statistics.promise
    found: dict[str, Any] = {"retired": statistics.retired}
    found["windows"] = [
        ({"label": who[0]} if len(who) == 1 else {"arms": [*who]}) | {"plays": n, "rounds": length}
        for who, (n, length) in promise.windows
    ]
    caps = zip(promise.arms, promise.caps or (), strict=False)
    found["plays"] = promise.plays if promise.plays > 1 else None
    found["caps"] = [{"label": arm, "cap": float(cap)} for arm, cap in caps if cap is not None]
    found["sets"] = [{"arms": list(arms), "share": float(share)} for arms, share in promise.sets]
    if len(statistics.epochs) > 1:
        found["history"] = [
            {
                "round": epoch.round,
                "at": None if epoch.at is None else moment(epoch.at),
                "kind": epoch.kind,
                "shares": [{"label": arm, "share": share} for arm, share in epoch.shares.items()],
                "others": epoch.others,
            }
            for epoch in statistics.epochs
        ]
    return {name: value for name, value in found.items() if value}


def _bias(bias: Callable[[], Any] | None) -> list[dict[str, Any]] | None:
    """Return the learned bias; None for policies that learn none, or have been told nothing yet."""
    if bias is None:
        return None
    try:
        rows: list[dict[str, Any]] = bias().to_dict("records")
    except ArgumentError:
        return None
    return rows


def _groups(statistics: Statistics) -> list[dict[str, Any]] | None:
    return [
        {"label": name, "share": float(count) / statistics.rounds if statistics.rounds else None}
        for name, count in zip(statistics.groups, statistics.group_counts, strict=True)
    ] or None
