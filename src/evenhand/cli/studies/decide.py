"""`evenhand ask`, `tell` and `forget`: take decisions of a study and record their rewards."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from evenhand.cli.inputs import observations
from evenhand.cli.inputs.inputs import labels_in, numbers_by_name
from evenhand.cli.inputs.observations import contexts_of, groups_of, read_rewards, several_of, ticket_of
from evenhand.cli.inputs.tables import read_texts
from evenhand.cli.options import FORM, JSON, STORE, STUDY, WRITTEN, Options
from evenhand.cli.output import answer, as_json, format_row, print_text
from evenhand.cli.studies.changes import labels_of
from evenhand.errors import ArgumentError, EvenhandError, StoreError, Wording, expected, file_said
from evenhand.policy.traits import traits_of
from evenhand.studies import Ask, Study, Tell
from evenhand.studies.log.codec import as_decided
from evenhand.studies.log.operations import given_or_refusal

NAMED = 12
"""How many refused rows are named on the screen."""


@Options(tables="contexts", beside={"--sticky": "--key", FORM: "--contexts --groups"})
def ask(
    store: STORE,
    *,
    study: STUDY = None,
    contexts: str = "",
    available: str = "",
    groups: str = "",
    annotator: str | None = None,
    weight: str | None = None,
    scores: str = "",
    count: Annotated[int, typer.Option(min=1)] = 1,
    key: str | None = None,
    sticky: bool = False,
    subject: str | None = None,
    json: JSON = False,
) -> None:
    """Take a decision. It is saved with its reason before it is printed as one line of JSON.

    Parameters
    ----------
    contexts : The contexts, one row per arm: [[1.0, 0.2], ...] or [{"age": 30}, ...], a JSON or CSV file, or -.
    available : The arms on offer in this round, if not all are: a,b, or JSON such as ["a,b", 17].
    groups : The groups of the arms, if they differ in this round: a=men,b=women, a JSON file, object or list.
    annotator : The name of the person who labels, so that nobody gets an item twice.
    weight : What the decision weighs, if shares of a weight are promised that is known now.
    scores : The scores of the arms on offer, for a policy over scores: a=0.12,b=0.3, or a JSON file or object.
    count : How many decisions to take in one transaction; each is a line.
    key : Your own name for this request; the same key returns the same decisions again.
    sticky : Return the first decision of --key even if the other options differ now.
    subject : The person whom the contexts describe: they are encrypted, and `evenhand erase` can erase them.
    """
    with Study.open(store, study) as running:

        def read() -> dict[str, Any]:
            given: dict[str, Any] = {"contexts": contexts_of(contexts, running)} if contexts else {}
            if available:
                given["available"] = labels_of(labels_in(available, "--available"), running)
            if groups:
                given["groups"] = groups_of(groups, running)
            if scores:
                given["scores"] = numbers_by_name(scores, "--scores")
            said = {"annotator": annotator, "weight": weight}
            return given | {name: value for name, value in said.items() if value is not None}

        given, refusal = given_or_refusal(read, sticky=sticky)
        one = Ask(given=given, key=key, subject=subject, sticky=sticky, refusal=refusal)
        outcomes = running.run([replace(one, number=number) for number in range(count)])
        try:
            for outcome in outcomes:
                if isinstance(outcome, EvenhandError):
                    raise outcome
                format_row(_shown(running, outcome))
            sys.stdout.flush()
        except OSError as error:
            hint = "`evenhand show --open` lists them, and asking again with the same --key returns them"
            raise StoreError(f"taken and on record, but not printed ({error.strerror}); {hint}") from error


@Options(
    tables="file rows samples",
    beside={
        "--file": "not TICKET --violations --acceptable --rows --samples --annotator --auditor --weight",
        "--label": "--rows",
        WRITTEN: "--file --rows --samples",
    },
)
def tell(
    store: STORE,
    ticket: str = "",
    reward: str = "",
    *,
    study: STUDY = None,
    file: str = "",
    violations: str = "",
    acceptable: str = "",
    rows: str = "",
    label: str = "label",
    samples: str = "",
    annotator: str = "",
    auditor: str = "",
    weight: str = "",
    json: JSON = False,
) -> None:
    """Record a decision's reward. It is saved before "told" is printed, and counts once even if it is told again.

    Parameters
    ----------
    ticket : The decision's number or its signed ticket.
    reward : The reward; 1,0 or a=1,b=0 for several, null for none. For an item: its label.
    file : Many rewards at once: CSV or Parquet with the columns ticket, reward, and weight if it is promised; or -.
    violations : Pairs that an auditor finds treated unfairly: 0-1,2-3; true if some are, but it is unclear which.
    acceptable : Pairs that an auditor finds treated fairly.
    rows : For a draw: its labelled rows, CSV or Parquet.
    label : The column of labels in --rows; all others are features.
    samples : For an allocation: CSV of its trials; logged trials need no ticket.
    annotator : For an item's label: the person who labels it.
    auditor : The name of the auditor, if several people audit.
    weight : What the decision weighed, if shares of a weight are promised that is told later.
    """
    with Study.open(store, study) as running:
        if file:
            _tell_many(running, file, json)
            return
        given: dict[str, Any] = {"annotator": annotator} if annotator else {}
        given |= {"auditor": auditor} if auditor else {}
        for option, pairs in (("violations", violations), ("acceptable", acceptable)):
            given |= {option: observations.pairs_of(pairs, f"--{option}")} if pairs else {}
        if not (samples or rows or reward):
            what = "the outcome: a reward, null for none, --rows or --samples"
            raise ArgumentError(expected("REWARD", what, Wording("nothing")))
        if samples:
            given["samples"] = read_texts(samples)
        if rows:
            given |= observations.rows_of(rows, label)
        if reward and traits_of(running.log.first_policy).feedback == "labels":
            given["label"] = observations.told_label(reward)
        elif reward:
            given["reward"] = observations.reward_of(reward, observations.several_of(running))
        given |= {"weight": weight} if weight else {}
        if not ticket and not samples:
            raise ArgumentError(expected("TICKET", "a decision's number or its signed ticket", ticket))
        number = observations.ticket_of(ticket) if ticket else None
        status = running.tell(number, **given)
        answer({"ticket": number, "status": status}, status, json)


def forget(store: STORE, ticket: str, *, study: STUDY = None, json: JSON = False) -> None:
    """Close a ticket whose reward will never be known; the decision still counts as taken.

    Parameters
    ----------
    ticket : The decision's number or its signed ticket.
    """
    with Study.open(store, study) as running:
        number = ticket_of(ticket)
        status = running.forget(number)
        answer({"ticket": number, "status": status}, status, json)


def _tell_many(study: Study, file: str, json: bool) -> None:
    """Tell a table of rewards in one transaction; a refused row does not affect the others."""
    given = read_rewards(file, several_of(study))
    readable = [(text, told) for text, told in given if not isinstance(told, EvenhandError)]
    # a row that cannot be read is not sent, so that the others are told; its refusal keeps its place in the list
    reports = [Tell(ticket=ticket_of(text), given=told) for text, told in readable]
    done = iter(study.run(reports))
    outcomes = [told if isinstance(told, EvenhandError) else next(done) for _, told in given]
    refused = [
        {"row": row, "ticket": text, "error": str(outcome)}
        for row, ((text, _), outcome) in enumerate(zip(given, outcomes, strict=True), 1)
        if isinstance(outcome, EvenhandError)
    ]
    told, again = outcomes.count("told"), outcomes.count("already told")
    if json:
        as_json({"told": told, "already_told": again, "refused": refused})
    else:
        print_text(f"{told} told, {again} already told, {len(refused)} refused")
    if refused:
        named = "; ".join(f"row {one['row']}: {one['error']}" for one in refused[:NAMED])
        more = f"; and {len(refused) - NAMED} more, see --json" if len(refused) > NAMED else ""
        raise ArgumentError(f"{file_said(file)}, {named}{more}")


def _shown(study: Study, decision: Any) -> dict[str, Any]:
    """Return a decision as the shell shows it: its signed ticket first."""
    fields = {name: value for name, value in as_decided(decision).items() if name not in ("type", "plan")}
    if "frame" in fields:
        del fields["frame"]
        fields["trials"] = decision.frame.to_dict("records")
    return {"ticket": study.sign(decision.id), **fields}
