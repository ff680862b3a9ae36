"""`evenhand evaluate`: what a policy would have earned, from the log of another, before it goes live."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from evenhand.cli.inputs.inputs import columns_of, limits_of, named_shares, names_of, numbers_by_name, shares_of
from evenhand.cli.inputs.policies import check_kept, policies_of
from evenhand.cli.inputs.promises import UNDER, with_and_without
from evenhand.cli.inputs.tables import is_table, read_table
from evenhand.cli.options import JSON, Options
from evenhand.cli.output import PROMISE_WORDS, as_json, draw, folder, print_text, records, say_notes
from evenhand.cli.price import known_price, price_body, promise_of, say_price
from evenhand.cli.refusals import typed_options
from evenhand.data.tables import column, in_column_order, numbers
from evenhand.errors import ArgumentError, TableError, Wording, expected
from evenhand.evaluation import Comparison, Evaluation, Refitted, under_shares
from evenhand.evaluation.distributions import shares_in
from evenhand.evaluation.logged import positions_in, read_logged
from evenhand.evaluation.refitted import best_by, logistic_by
from evenhand.evaluation.replay import learns
from evenhand.policy.traits import traits_of
from evenhand.promises.promise import Promise
from evenhand.quotas import LoggedArms

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.quotas import Price

UNDER_SHARES = ("thompson", "deadline-learn+thompson")
"""The policies that are compared where shares are given and no policy is named: without the promise, and with it."""

CHANGING = (
    "What the promise costs in the long run is not known: the propensities of an arm change from row to row, so that "
    "its mean reward is that of the rows in which it was likely, not of all."
)


@Options(
    tables="log",
    beside={
        "--tolerance": "--shares --promise",
        "--promise": "not --shares --cap --window --tolerance",
        "--by": "--fit",
    },
    arguments={"learner": "--policy", "policies": "--policy", "value": "--at-least"},
)
def evaluate(
    context: typer.Context,
    log: Path,
    *,
    arm: str = "arm",
    reward: str = "reward",
    propensity: str = "",
    policy: Annotated[list[str] | None, typer.Option("--policy", "-p")] = None,
    shares: str = "",
    cap: str = "",
    window: str = "",
    tolerance: float = 0.0,
    promise: Path | None = None,
    estimator: str = "dr",
    model: str = "",
    largest_weight: float | None = None,
    interval: str = "anytime",
    stationary: bool = False,
    level: float = 0.95,
    contexts: str = "",
    position: str = "",
    order: list[str] | None = None,
    unit: str = "",
    fit: list[str] | None = None,
    by: str = "",
    rounds: int | None = None,
    replays: int = 10,
    seed: int = 0,
    each: bool = False,
    at_least: float | None = None,
    picture: Path | None = None,
    json: JSON = False,
) -> None:
    """Estimate from a log what another policy would have earned, with an interval that is valid at any time.

    With a promise, and without --policy, it shows what the promise costs a learner.

    Parameters
    ----------
    log : The log, one row per decision: CSV, Parquet, Arrow or JSON lines, or -.
    arm : The column with the arm of each decision.
    reward : The column with the reward, in [0, 1].
    propensity : The column with the chance of the arm in its row, or of each arm: a=COLUMN,b=COLUMN; those of an export
        are found.
    policy : A distribution: a=0.2,b=0.8, or a CSV with columns arm, probability and perhaps position, or log:FILE for
        that of another log; or a policy that learns: fair-ucb, ...; repeat it to compare with the first. With a
        promise a distribution is compared with itself under it.
    shares : Promised share of each arm: 0.02, or a=0.2,b=1/3, or a CSV with columns arm, share.
    cap : The most that an arm may have: 0.5, or a=0.5,b=1/3.
    window : Least plays in any consecutive rounds: a=2/25,b=10 is twice in any 25, once in any 10.
    tolerance : By how many plays an arm may be behind its share.
    promise : A promise file as for `evenhand new --promise`; each policy is evaluated with and without it.
    estimator : dr, ips, snips or dm, or several, of which a table shows all; a policy that learns is replayed.
    model : Expected rewards for dr: logistic or linear (a regression on the arm and --contexts), a=0.1,b=0.2, or a CSV
        with columns arm, reward.
    largest_weight : The largest probability / propensity possible, if it is known before the data.
    interval : anytime: it holds after every row at once; once: for one look at the whole log; normal: for one look at
        many rows.
    stationary : Suppose that the value is the same in every row of the log.
    level : The probability that the interval holds.
    contexts : The columns of contexts, separated by commas.
    position : A column with the position in which an arm was shown.
    order : A column by which the rows must be sorted, or several: time,id.
    unit : The column that says which rows belong together, such as a person's; without it rows must be independent.
    fit : best or logistic: the arm with the best mean reward, or with the best prediction of a logistic regression, for
        each value of --by; fitted to the rows before each of 20 blocks, which judges it.
    by : The columns by which --fit chooses an arm, separated by commas; for values that are new, best plays the best
        arm of all rows.
    rounds : The rounds of a replay; by default as many as are sure to be reached, or the most of 2, 4, 8, ... times as
        many that all replays reach.
    replays : How many replays are averaged for a policy that learns.
    seed : The seed of a replay.
    each : Let each interval of a difference hold by itself, instead of all together.
    at_least : Exit with code 1 unless the lower bound of the last policy's value reaches this.
    picture : File for the picture, such as value.png.
    """
    import evenhand as eh

    columns, limits = names_of(by), limits_of(cap, window, tolerance)
    if clash := sorted({arm, reward} & set(columns)):
        raise ArgumentError(expected("--by", "columns that are known before the decision", clash[0]))
    promises = bool(shares or cap or window or promise is not None)
    if fit and promises:
        raise ArgumentError(expected("--fit", "none beside a promise", fit[0], "evaluate it by itself"))
    if picture is not None and picture.suffix.lower() != ".png":
        raise ArgumentError(expected("--picture", "a file that ends in .png", str(picture)))
    frame = read_table(log, text=[name for name in (arm, position, unit, *columns) if name])
    named: dict[str, Any] = {}
    arms = in_column_order(frame, [arm], column(frame, arm))
    stated = promise_of(arms, shares, cap, window, promise) if promises else None
    if policy or not fit:
        named = _policies(policy or [], shares, limits, promise, stated, tolerance, seed, frame, arm, reward, position)
    for kind in fit or ():
        named[" by ".join([kind, *([by] if by else [])])] = _fitted(kind, columns, arm, reward, frame)
    typed = typed_options(context)
    if learners := {name: one for name, one in named.items() if learns(one)}:
        check_kept(shares or cap or window, learners)
    elif idle := [typed[own] for own in ("replays", "seed", "tolerance") if own in typed]:
        raise ArgumentError(expected(idle[0], "a --policy that learns", Wording("none")))
    found = eh.evaluate(
        frame,
        named if len(named) > 1 else next(iter(named.values())),
        arm=arm,
        reward=reward,
        propensity=propensity_of(propensity, frame),
        contexts=names_of(contexts) or columns or None,
        estimator=cast(Any, names_of(estimator)),
        interval=cast(Any, interval),
        level=level,
        each=each,
        stationary=stationary,
        model=_model(model),
        largest_weight=largest_weight,
        position=position or None,
        order=columns_of(order or (), frame.columns) or None,
        unit=unit or None,
        rounds=rounds,
        replays=replays,
        seed=seed,
        progress=not json,
    )
    every = found.evaluations if isinstance(found, Comparison) else {next(iter(named)): found}
    if picture is not None:
        _draw(found, picture, at_least)
    sees = any(traits_of(one).contextual for one in learners.values())
    costs = None if stated is None or position else _costs(stated, frame, arm, reward, propensity, sees)
    met = None if at_least is None else list(every.values())[-1].at_least(at_least)
    if json:
        body = _bodies(every, found) | {"met": met}
        as_json(body if costs is None else body | {"price": price_body(costs)}, found)
    else:
        _say(log, every, found, at_least, costs)
        if picture is not None:
            print_text(f"Written: {picture}")
    if met is False:
        raise typer.Exit(1)


def _policies(
    given: list[str],
    shares: str,
    limits: dict[str, Any],
    promise: Path | None,
    stated: Promise | None,
    tolerance: float,
    seed: int,
    frame: pd.DataFrame,
    *columns: str,
) -> dict[str, Any]:
    """Return the policies by the words that name them; `columns` are those of the arm, the reward and the position."""
    if not given and stated is None:
        raise ArgumentError(expected("--policy", "a policy to evaluate, or --shares or --promise", None))
    arm, reward, position = columns
    world = LoggedArms(frame, arm=arm, reward=reward)
    owed = shares_of(shares, world.arms) if shares else None
    found: dict[str, Any] = {}
    for spec in given or (UNDER_SHARES if promise is None else [""]):
        if spec.startswith("log:"):
            other = read_table(spec[4:], text=[name for name in (arm, position) if name])
            read = shares_in(other, arm, position or None, world.arms)
        elif (read := _distribution(spec)) is None:
            if promise is None:
                named = policies_of([spec], world, owed, tolerance, len(frame), limits)
            else:
                named = with_and_without(promise, [spec], world, len(frame))
            found |= {name: learner.fresh(seed=seed) for name, learner in named.items()}
            continue
        found[spec] = read
        if stated is not None:
            by_position = isinstance(next(iter(read.values())), dict)
            under = partial(under_shares, shares=stated)
            kept = {k: under(v) for k, v in read.items()} if by_position else under(read)
            found[spec + (" under the shares" if promise is None else UNDER)] = kept
    return found


def _costs(promise: Promise, frame: pd.DataFrame, arm: str, reward: str, propensity: str, sees: bool) -> Price | str:
    """Return what a promise costs in the long run, or a sentence that says why it is not known."""
    named: dict[str, Any] = {"arm": arm, "reward": reward, "propensity": propensity_of(propensity, frame)}
    logged = read_logged(frame, **named, contexts=None, position=None, order=None, unit=None)
    found = known_price(promise, frame, arm, reward, contexts=sees)
    return found if logged.fixed or isinstance(found, str) else CHANGING


def _fitted(kind: str, columns: list[str], arm: str, reward: str, frame: pd.DataFrame) -> Refitted:
    """Return a policy that is fitted to the log."""
    if kind == "best":
        return Refitted(best_by(columns, arm, reward, positions_in(frame, arm)[0]))
    if kind == "logistic":
        return Refitted(logistic_by(columns, arm))
    raise ArgumentError(expected("--fit", "best or logistic", kind))


def _distribution(text: str) -> Any:
    """Return the distribution that a text or file says, None where it names a policy that learns."""
    if not is_table(text):
        named = named_shares(text, "--policy") is not None
        return numbers_by_name(text, "--policy", "a probability in [0, 1]") if named else None
    table = read_table(text, text=["arm", "position"])
    if not {"arm", "probability"} <= set(table.columns):
        got = [str(name) for name in table.columns]
        raise TableError(expected(text, "the columns 'arm' and 'probability'", got))
    arms, chances = column(table, "arm").tolist(), numbers(table, "probability", low=0.0, high=1.0).tolist()
    if "position" not in table.columns:
        return dict(zip(arms, chances, strict=True))
    by_position: dict[Any, dict[Any, float]] = {}
    for place, label, chance in zip(column(table, "position").tolist(), arms, chances, strict=True):
        by_position.setdefault(place, {})[label] = chance
    return by_position


def propensity_of(text: str, frame: pd.DataFrame) -> Any:
    """Return the column, the columns by arm, or None."""
    several = text not in frame.columns and ("=" in text or text.lstrip().startswith("{"))
    return named_shares(text, "--propensity", "COLUMN") if several else text or None


def _model(text: str) -> Any:
    """Return the model or the expected rewards that a text names, None for no text."""
    if text == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=1000)
    if text == "linear":
        from sklearn.linear_model import LinearRegression

        return LinearRegression()
    if is_table(text):
        table = read_table(text, text=["arm"])
        return dict(zip(column(table, "arm").tolist(), numbers(table, "reward", low=0.0, high=1.0), strict=True))
    if text and "=" not in text:
        raise ArgumentError(expected("--model", "logistic, linear, ARM=REWARD,ARM=REWARD or a CSV", text))
    return numbers_by_name(text, "--model", "a number in [0, 1]") if text else None


def _draw(found: Evaluation | Comparison, picture: Path, at_least: float | None) -> None:
    from evenhand.plots import plot_evaluation

    draw(folder(picture.parent), picture.stem, partial(plot_evaluation, found, at_least=at_least))


def _bodies(every: dict[str, Evaluation], found: Evaluation | Comparison) -> dict[str, Any]:
    """Return evaluations, their differences and what other estimators say, for programs."""
    differences = found.differences.to_dict("records") if isinstance(found, Comparison) else []
    side_by_side = [] if found.estimates is None else found.estimates.to_dict("records")
    policies = [_body(name, one) for name, one in every.items()]
    return {"policies": policies, "differences": differences, "estimates": side_by_side}


def _body(name: str, found: Evaluation) -> dict[str, Any]:
    told = ("value", "low", "high", "refuted", "rounds", "effective_rounds", "estimator", "level", "interval", "unit")
    body: dict[str, Any] = {"policy": name} | {one: getattr(found, one) for one in (*told, "notes")}
    body["promise_kept"] = None if found.audit is None else found.audit.kept
    body["change"] = None if found.change is None else asdict(found.change)
    return body | {"curve": found.curve.to_dict("records"), "weights": found.weights.to_dict("records")}


def _say(
    log: Path,
    each: dict[str, Evaluation],
    found: Evaluation | Comparison,
    at_least: float | None,
    costs: Price | str | None,
) -> None:
    first = next(iter(each.values()))
    refuted = [name for name, one in each.items() if one.refuted]
    if refuted:
        of = f" of {', '.join(refuted)}" if len(each) > 1 else ""
        print_text(f"WRONG: the propensities cannot be true, as the lower bound{of} is above the upper one.")
    none: dict[str, Any] = dict.fromkeys(("low", "high")) if refuted else {}
    rows, counted = [], "units" if first.counted.startswith("units") else "rounds"
    for name, one in each.items():
        row = {"policy": name, "reward": one.value, "low": one.low, "high": one.high, counted: one.rounds} | none
        kept = {"promise_kept": PROMISE_WORDS[None if one.audit is None else one.audit.kept]}
        rows.append(row | (kept if one.estimator == "replay" else {"effective": one.effective_rounds}))
    records(f"{log}: mean reward per round ({first.estimator})", rows)
    if found.estimates is not None:
        records("Estimators", found.estimates.assign(**none).to_dict("records"))
    if len(each) > 1:
        apart: Any = cast("Comparison", found).differences.drop(columns="against").assign(**none).to_dict("records")
        records(f"Differences from {next(iter(each))}", apart)
    for words in dict.fromkeys(str(one.audit.promise) for one in each.values() if one.audit is not None):
        print_text(f"Promised: {words}.")
    for name in [name for name in each if name.startswith("log:")]:
        print_text(
            f"{name} plays each arm as often as that log did and ignores the contexts, even if that log used them."
        )
    say_notes(found)
    step = first.counted.split()[0].removesuffix("s")
    when = f"after every {step} at once" if first.interval == "anytime" else f"after the last {step}"
    of = "" if first.estimator == "replay" else f", for the mean over the {first.counted} so far"
    if not refuted:
        print_text(f"Each interval holds with probability {first.level:g}, {when}{of}.")
    if costs is not None:
        say_price(costs)
    if at_least is not None:
        print_text(_gate(list(each)[-1], list(each.values())[-1], at_least))


def _gate(name: str, found: Evaluation, at_least: float) -> str:
    """Return whether a policy is shown to be worth so much."""
    if found.at_least(at_least):
        return f"{name} is above {at_least:g} per round, on average over these {found.rounds} {found.counted}."
    if found.low >= at_least and found.change is not None:
        row = found.change.row
        where = f"over all {found.counted}, but NOT shown to be above it since row {row}"
        return f"{name} is above {at_least:g} per round {where}."
    return f"{name} is NOT shown to be above {at_least:g} per round."
