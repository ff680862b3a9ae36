"""`evenhand simulate`: policies in a registered world, or on rewards resampled from the user's own table."""

from __future__ import annotations

import inspect
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import evenhand as eh
from evenhand import quotas, registry
from evenhand.cli.groups import learned_bias, say_gaps, show_bias, table_bias, write_bias
from evenhand.cli.inputs.inputs import (
    delay_of,
    limits_of,
    means_of,
    names_of,
    settings_of,
    shares_of,
)
from evenhand.cli.inputs.policies import check_kept, policies_of
from evenhand.cli.inputs.promises import UNDER, with_and_without
from evenhand.cli.inputs.tables import read_table
from evenhand.cli.options import FORM, JSON, Options
from evenhand.cli.output import as_json, folder, picture_formats, print_text, say_notes, table
from evenhand.cli.price import BY_CONTEXTS, known_price, price_body, say_price
from evenhand.cli.simulation_report import arms_table, origin_of, policy_rows, show_policies, write_files
from evenhand.cli.trial_plan import analysis_of, beside_equal, show_plan
from evenhand.data.tables import column, numbers
from evenhand.errors import ArgumentError, expected, expected_one_of
from evenhand.policy.traits import traits_of
from evenhand.quotas.price import saw_contexts
from evenhand.simulation.measures import cost_of
from evenhand.simulation.world import world_traits
from evenhand.trials import operating_characteristics

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from evenhand.quotas import Price
    from evenhand.simulation.measures import Cost


@Options(
    tables="data",
    beside={
        "--tolerance": "--shares --promise",
        "--promise": "not --shares --cap --window --tolerance",
        "--arm --reward": "--data --learn",
        "--group": "--data",
        "--sensitive --features": "--group",
        "--data": "not WORLD --means --control",
        "--pictures": "--out",
        FORM: "--data --log --learn --shares --promise",
    },
    arguments={"learner": "--policy", "policies": "--policy", "learned": "--learn"},
)
def simulate(
    world: str = "",
    *,
    data: Path | None = None,
    arm: str = "",
    reward: str = "reward",
    group: str = "",
    sensitive: str = "",
    features: str = "",
    means: str = "",
    policy: Annotated[list[str] | None, typer.Option("--policy", "-p")] = None,
    shares: str = "",
    cap: str = "",
    window: str = "",
    tolerance: float = 0.0,
    promise: Path | None = None,
    log: Path | None = None,
    learn: Path | None = None,
    delay: str = "0",
    missing: float = 0.0,
    control: str = "",
    rounds: int = 10_000,
    replications: int = 20,
    seed: int | None = None,
    jobs: int = -1,
    out: Path | None = None,
    pictures: str = "png",
    json: JSON = False,
) -> None:
    """Simulate policies and show whether they kept their promises and what that cost.

    Parameters
    ----------
    world : A registered world, such as quotas/bernoulli-arms or groups/biased-linear-arms:arms=6,bias=3.
    data : Your own table instead: CSV, Parquet, Arrow or JSON lines, or -.
    arm : Column of arms in --data and --learn; with --group also several, age,sex, or by default the group.
    reward : Column of rewards in --data and --learn, in [0, 1] without --group.
    group : Column of groups in --data; rewards may be biased against one.
    sensitive : The group that is compared with the others, such as women.
    features : Columns of contexts in --data; by default all others.
    means : The means of Bernoulli arms: 0.7,0.5,0.4 or a=0.7,b=0.5.
    policy : A policy: fair-ucb, fair-learn+thompson, deadline-learn:tolerance=2, ...; may be repeated.
    shares : Promised share of each arm: 0.02, or a=0.2,b=1/3, or a CSV with columns arm, share.
    cap : The most that an arm may have: 0.5, or a=0.5,b=1/3.
    window : Least plays in any consecutive rounds: a=2/25,b=10 is twice in any 25, once in any 10.
    tolerance : By how many plays an arm may be behind its share.
    promise : A promise file as for `evenhand new --promise`; each learner runs with and without it.
    log : A log whose offers are replayed, from its column available or given.
    learn : A log, such as that of --data, that every learner has learned from when its first round begins.
    delay : Rounds until a reward arrives: 50, one of 0,3,12 drawn each round, or geometric:MEAN.
    missing : The probability that a reward never arrives.
    control : An arm of 0/1 rewards; each trial, and equal allocation, is analysed as `evenhand effects` does.
    rounds : The number of rounds in each replication.
    replications : The number of independent replications.
    seed : The seed; by default drawn and shown.
    jobs : The number of processes; -1 for all cores.
    out : Folder for history.nc, tables (summary.csv, arms.csv, means.csv, ...), about.json and pictures.
    pictures : Formats of the pictures: png, pdf, svg, or several, pdf,png.
    """
    formats = picture_formats(pictures)
    arm, logged = arm or group or "arm", None
    if data is not None and group:
        played = _grouped(data, arm, group, reward, features, sensitive)
    else:
        logged = None if data is None else read_table(data, text=[arm])
        played = _world(world, logged, arm, reward, means)
    owed = shares_of(shares, played.arms) if shares else None
    if promise is None:
        limits = limits_of(cap, window, tolerance)
        policies = policies_of(policy or [], played, owed, tolerance, rounds, limits)
        check_kept(shares or cap or window, policies)
    else:
        policies = with_and_without(promise, policy or [], played, rounds)
    bias: Any = None
    traits = traits_of(played)
    if of_table := traits.bias is not None:
        bias, gaps = table_bias(played)
        if not json:
            say_gaps(played, gaps, reward)
    offers = None if log is None else _offers_of(log)
    rounds = rounds if offers is None else min(rounds, len(offers))
    history = eh.simulate(
        beside_equal(policies, control),
        played,
        rounds=rounds,
        offers=offers,
        replications=replications,
        seed=seed,
        delay=delay_of(delay),
        missing=missing,
        analyse=analysis_of(control, played),
        learned=None if learn is None else _learned(learn, arm, reward),
        jobs=jobs,
        progress=not json,
        store=None if out is None else folder(out) / "partial",
    )
    read = {"data": data, "log": log, "learn": learn}
    history.attrs |= {name: str(file) for name, file in read.items() if file is not None}
    rewards = world_traits(played).reward_range or (-math.inf, math.inf)
    if traits.groups is not None and not of_table:
        bias = learned_bias(policies, played, rounds, int(history.attrs["seed"]))
    prices, long_run = _prices(policies, played, logged, arm, reward, varied=offers is not None)
    plan = operating_characteristics(history, played.means.tolist(), control=control) if control else None
    _report(history, policies, bias, out, json, prices, long_run, plan, rewards, of_table=of_table, formats=formats)


def _offers_of(path: Path) -> list[Any]:
    """Return the offers that a log says."""
    from evenhand.simulation.schedule import said_in

    table = read_table(path, text=["available", "given"])
    offers = said_in(table, "available")
    if offers is None:
        if "given" in table.columns:
            raise ArgumentError("--log: none of its rounds has an offer; leave --log out")
        what = "a log with a column available or given, as `evenhand export` writes it"
        raise ArgumentError(expected("--log", what, list(table.columns)))
    return offers


def _grouped(data: Path, arm: str, group: str, reward: str, features: str, sensitive: str) -> Any:
    """Return the arms of a user's table; `arm`, `group` and `features` are columns separated by commas."""
    from evenhand.groups import TableArms

    arms, groups, seen = names_of(arm), names_of(group), names_of(features)
    frame = read_table(data, text=sorted({*arms, *groups} - {*seen}))
    return TableArms(frame, arms, group=groups, reward=reward, features=seen or None, sensitive=sensitive or None)


def _world(name: str, logged: pd.DataFrame | None, arm: str, reward: str, means: str) -> Any:
    if logged is not None:
        return quotas.LoggedArms(logged, arm=arm, reward=reward)
    if means and not name:
        return quotas.BernoulliArms(means_of(means))
    if not name:
        raise ArgumentError("WORLD: name a world or pass --data FILE; `evenhand list` shows the worlds")
    name, settings = settings_of(name, "WORLD")
    cls = registry.get(name, "world").cls
    known = [*inspect.signature(cls).parameters]
    if odd := next((setting for setting in settings if setting not in known), ""):
        raise ArgumentError(expected_one_of(f"WORLD {name}", known, odd, what="one of its settings"))
    if settings and not means:
        return cls(**settings)
    if cls is quotas.BernoulliArms:
        return cls(means_of(means or "0.7,0.5,0.4"))
    if means:
        raise ArgumentError(expected("--means", "nothing together with a world with means of its own", means))
    return next(iter(cls._examples()))


def _prices(
    policies: dict[str, Any], world: Any, logged: pd.DataFrame | None, arm: str, reward: str, *, varied: bool
) -> tuple[dict[str, Price | str], dict[str, float]]:
    """Return what each promise, by its words, costs in the long run, where arms earn the same in every round and the
    offer is not `varied`, by the rewards of a table if these are simulated; and what it costs at the simulated means,
    by the name of the policy that keeps it."""
    if world_traits(world).gaps is None:
        return {}, {}
    promises = {words: traits_of(policies[names[0]]).promise for words, names in _promised(policies).items()}
    if logged is not None and saw_contexts(logged):
        return dict.fromkeys(promises, BY_CONTEXTS), {}
    if varied:
        return {}, {}
    means = dict(zip(world.arms, world.means.tolist(), strict=True))
    exact = {words: known_price(promise, means) for words, promise in promises.items()}
    kept = {name: exact.get(str(traits_of(policies[name]).promise)) for name in _twins(policies)}
    long_run = {name: found.cost for name, found in kept.items() if isinstance(found, quotas.Price)}
    if logged is None:
        return exact, long_run
    return {words: known_price(promise, logged, arm, reward) for words, promise in promises.items()}, long_run


def _report(
    history: xr.Dataset,
    policies: dict[str, Any],
    bias: Any,
    out: Path | None,
    json: bool,
    prices: dict[str, Price | str],
    long_run: dict[str, float],
    plan: pd.DataFrame | None,
    rewards: tuple[float, float],
    *,
    of_table: bool,
    formats: list[str],
) -> None:
    twins = {} if BY_CONTEXTS in prices.values() else _twins(policies)
    costs = {kept: cost_of(history, kept, free) for kept, free in twins.items()}
    every = [traits_of(policy) for policy in policies.values()]
    clauses = [clause for one in every if one.promise is not None for clause in one.promise.clauses]
    later = {name for name, one in zip(policies, every, strict=True) if one.holds_when not in (None, "at every round")}
    summary, promised = policy_rows(history, later, rewards), _promised(policies)
    written: list[Path] = []
    if out is not None:
        origin = origin_of(history)
        written = write_files(history, clauses, summary, plan, origin, out, formats, _baselines(policies))
        if bias is not None:
            written += write_bias(bias, origin, out, formats)
        shutil.rmtree(out / "partial", ignore_errors=True)
    if json:
        names = ("seed", "rounds", "delay", "missing", "learned", "made_of")
        body = {name: history.attrs[name] for name in names if name in history.attrs}
        body["policies"] = summary
        each = [
            {"policy": kept, "learner": twins[kept]} | cost._asdict() | {"long_run": long_run.get(kept)}
            for kept, cost in costs.items()
        ]
        body |= {"costs": each} if costs else {}
        of_each = [{"promise": said, "policies": promised[said]} | price_body(one) for said, one in prices.items()]
        body |= {"prices": of_each} if prices else {}
        body |= {} if plan is None else {"characteristics": plan.to_dict("records")}
        if bias is not None:
            body |= {"bias": bias.to_dict("records")} | {f"bias_{name}": said for name, said in bias.attrs.items()}
        as_json(body, history)
    else:
        several = history.sizes["replication"]
        runs = f"{history.attrs['rounds']} rounds, {several} replication{'s' * (several != 1)}"
        if "delay" in history.attrs:
            runs += f", delay {history.attrs['delay']}"
        if "missing" in history.attrs:
            runs += f", {history.attrs['missing']:.3g} of the rewards missing"
        print_text(f"seed {history.attrs['seed']}, {runs}\n")
        say_notes(history)
        show_policies(summary)
        which = " on offer" if "offered" in history else ""
        table(f"Share of the rounds{which} by arm", *arms_table(history, clauses))
        if bias is not None:
            show_bias(bias, of_table)
        if plan is not None:
            show_plan(plan, several)
        _say_costs(history, promised, prices, twins, costs, long_run)
        if written:
            print_text("Written: " + ", ".join(str(path) for path in written))


def _say_costs(
    history: xr.Dataset,
    promised: dict[str, list[str]],
    prices: dict[str, Price | str],
    twins: dict[str, str],
    costs: dict[str, Cost],
    long_run: dict[str, float],
) -> None:
    """Print what is promised and by whom, what each promise costs in the long run, and what it cost each policy."""
    for words, names in promised.items():
        who = [name for name in names if not name.endswith(UNDER)]
        print_text(f"Promised{' by ' * bool(who)}{', '.join(who)}: {words}.")
        if words in prices:
            say_price(prices[words])
    for name, cost in costs.items():
        print_text(cost.sentences(twins[name], "" if name.endswith(UNDER) else name))
        if name in long_run:
            print_text(_reconciled(cost, long_run[name], history.attrs))
    if costs and "regret" in history:
        pairs = ", ".join(f"{kept} and {free}" for kept, free in twins.items())
        known = f"The cost is the difference of the regrets of {pairs}, which are expected"
        print_text(f"{known}; the rewards also vary by luck.")
    if costs and history.attrs["world"] == "LoggedArms":
        print_text(
            "The interval covers the randomness of the replications, not how well the table shows the rewards; "
            "that an arm earns the same for everybody is supposed."
        )


def _reconciled(cost: Cost, long_run: float, made: Mapping[str, Any]) -> str:
    """Return why what a promise cost here is not what it costs in the long run."""
    learned = made.get("learned", 0)
    since = f"after learning from {learned:,} rows" if learned else "learning from nothing"
    why = "more here: a promised play also delays what the learner finds out about other arms"
    if cost.cost < long_run:
        why = "less here: a learner that still tries arms plays some of what is promised anyway"
    if math.isclose(cost.cost, long_run) or not (cost.high < long_run or cost.low > long_run):
        why = "not shown to differ"
    return f"That is in {made['rounds']:,} rounds, {since}. In the long run it is {long_run:.2g} per round; {why}."


def _learned(path: Path, arm: str, reward: str) -> pd.DataFrame:
    import pandas as pd

    table = read_table(path, text=[arm])
    return pd.DataFrame({"arm": column(table, arm), "reward": numbers(table, reward)})


def _twins(policies: dict[str, Any]) -> dict[str, str]:
    """Return the policies that keep a promise, by their names, each with its learner, where this plays alone too."""
    free = _free(policies)
    kept = [name for name in policies if name not in free]
    learners = {name: name.removesuffix(UNDER) if UNDER in name else name.partition("+")[2] or "ucb1" for name in kept}
    return {name: learner for name, learner in learners.items() if learner in free}


def _promised(policies: dict[str, Any]) -> dict[str, list[str]]:
    """Return what is promised, in words, each with the names of the policies that promise it."""
    found: dict[str, list[str]] = {}
    for name, policy in policies.items():
        if (promise := traits_of(policy).promise) is not None and promise.clauses:
            found.setdefault(str(promise), []).append(name)
    return found


def _free(policies: dict[str, Any]) -> list[str]:
    """Return the names of the policies that promise nothing."""
    return [name for name, policy in policies.items() if traits_of(policy).promise is None or name + UNDER in policies]


def _baselines(policies: dict[str, Any]) -> list[str | None]:
    """Return which policies all are compared with in tables, and by the first in pictures: the learners whose costs are
    said, else another that promises nothing; None, for the best, where all promise something or none does."""
    free = _free(policies)
    learners: list[str | None] = [*dict.fromkeys(_twins(policies).values())]
    return (learners or [free[0]]) if 0 < len(free) < len(policies) else [None]
