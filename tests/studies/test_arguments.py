"""A study's `ask` and `tell` take what its policy takes: for every registered policy, through every door."""

import inspect
import io
import itertools
from collections import deque
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand import registry
from evenhand.checks import examples
from evenhand.cli.studies import decide
from evenhand.client import AsyncRemoteStudy, RemoteStudy
from evenhand.errors import ArgumentError, EvenhandError, UnknownTicketError
from evenhand.sampling import LabelQueue
from evenhand.saving.state import from_bytes, to_bytes
from evenhand.service.routes.decisions import AskBody, TellBody
from evenhand.studies import Ask
from evenhand.studies.export import bandit_frame
from evenhand.studies.files import flat, read_csv
from evenhand.studies.log.codec import as_decided

KNOWN = (*registry.entries("policy"), *registry.entries("part"))
POLICIES = [entry.name for entry in KNOWN if hasattr(entry.cls, "ask") and hasattr(entry.cls, "tell")]


def parameters(name, method):
    """Return the names of the arguments of a policy's method, the ticket of `tell` left out."""
    names = list(inspect.signature(getattr(registry.get(name).cls, method)).parameters)
    return names[1 if method == "ask" else 2 :]


def example(name):
    """Return a policy, what its world shows in the first round, and what its world tells of a decision."""
    found = examples(registry.get(name).cls)[0]
    if not isinstance(found, tuple):
        return found, (), lambda task: ((getattr(task, "choices", ()) or ["yes"])[0],)
    policy, world = found
    world.reset(1)
    return policy, world.observe(), world.respond


def shown(policy):
    """Return a value of each argument that an `ask` may take, by its name."""
    labels = list(policy.arms) if getattr(policy, "arms", None) else [0, 1]
    groups = getattr(policy, "groups", None)
    return {
        "groups": dict(itertools.islice(groups.items(), 2)) if isinstance(groups, dict) else {"a": "x"},
        "available": labels,
        "annotator": "ann",
        "weight": 3,
        "scores": dict.fromkeys(labels, 0.5),
    }


TOLD = {"violations": [(0, 1)], "acceptable": [], "auditor": "ann", "annotator": "ann", "weight": None}
"""A value of each argument that a `tell` may take beside what its world tells."""


def outcome(call, *given, **named):
    try:
        return call(*given, **named)
    except EvenhandError as error:
        return f"{type(error).__name__}: {error}"


def plainly(decided):
    return {**as_decided(decided), "token": None} if not isinstance(decided, str) else decided


@pytest.mark.parametrize("name", POLICIES)
def test_a_study_takes_what_its_policy_takes_records_it_and_refuses_the_rest_by_name(name):
    policy, observed, respond = example(name)
    study = eh.Study.create(":memory:", policy, name="one")
    for call, given in ((study.ask, {"colour": "red"}), (study.tell, {"ticket": 1, "colour": "red"})):
        with pytest.raises(ArgumentError, match=r"^(ask|tell): expected .*, got 'colour'"):
            call(**given)
    assert study.log.sequence == 0
    values, first, decided = shown(policy), {"contexts": observed[0]} if observed else {}, []
    for more in [{}, *({one: values[one]} for one in parameters(name, "ask") if one not in ("n", "contexts"))]:
        alone = from_bytes(to_bytes(study.policy))
        given = more if "scores" in more else {**first, **more}  # scores stand in the place of contexts
        own, through = (outcome(one.ask, **given) for one in (alone, study))
        assert plainly(through) == plainly(own)
        if not isinstance(through, str):
            assert set(study.log.record(through).given) == {"contexts" if one == "scores" else one for one in given}
            decided.append(through)
    happened = dict(zip(parameters(name, "tell"), respond(decided[0]), strict=False))
    assert study.tell(decided[0], **happened) == "told"
    for extra in ({one: TOLD[one]} for one in parameters(name, "tell") if one not in happened):
        decision = study.ask(**first)
        told = dict(zip(happened, respond(decision), strict=True)) | extra
        alone = from_bytes(to_bytes(study.policy))
        ticket = alone.tickets.by_number(decision.id) if hasattr(alone, "tickets") else decision.id
        own, through = outcome(alone.tell, ticket, **told), outcome(study.tell, decision, **told)
        assert through == ("told" if own is None else own)
        assert {one for one, value in extra.items() if value} <= set(study.log.record(decision).told or {})
    assert study.verify().ok


def test_several_tasks_of_a_label_queue_are_tickets_of_their_own_and_fewer_where_fewer_are_left():
    queue = LabelQueue(range(8), np.arange(8.0)[:, None], groups=["x", "y"] * 4, seed=1)
    with eh.Study.create(":memory:", queue, name="labels") as study:
        tasks = study.ask(3, annotator="ann")
        assert [study.tell(task, "yes", annotator="ann") for task in tasks] == ["told"] * 3
        assert len(study.ask(n=1_000)) == 5
        with pytest.raises(EvenhandError, match="no rows are left to ask for"):
            study.ask(n=2)
        with pytest.raises(ArgumentError, match="count: expected None together with n=2, got 3"):
            study.ask(n=2, count=3)
        with pytest.raises(ArgumentError, match="n: expected a whole number"):
            study.ask(n=0)
        (refusal,) = study.run([Ask(given={"n": 3})])
        assert str(refusal).startswith("ask: expected annotator, got 'n'")
        assert study.verify().ok


def test_arguments_are_given_once_by_position_or_by_name():
    groups = {"ann": "f", "bob": "m"}
    with eh.Study.create(":memory:", eh.groups.LinearThompson(groups, seed=1), name="jobs") as study:
        people = [[0.3, 1.0], [0.2, 2.0]]
        decision = study.ask(contexts=people, groups=["m", "f"], available=None, annotator=None)
        assert study.log.record(decision).given == {"contexts": people, "groups": ["m", "f"]}
        assert study.statistics().group_counts.sum() == 1
        for wrong, words in (
            (lambda: study.ask(people, contexts=people), "contexts: expected one value, got 'two: one by position"),
            (lambda: study.ask(people, None, "x"), "ask: expected contexts, groups, got '3 arguments'"),
            (lambda: study.tell(decision, 1.0, 2.0), "tell: expected reward, got '2 arguments'"),
            (lambda: study.tell(decision), "reward: expected a value, tell needs it"),
            (lambda: study.tell(decision, decision=decision, reward=1.0), "tell: expected reward, got 'decision'"),
        ):
            with pytest.raises(ArgumentError, match=words):
                wrong()
        with pytest.raises(UnknownTicketError):
            study.tell(reward=1.0)
        assert study.tell(decision=decision, reward=1.0) == "told"
        assert study.log.sequence == 2


def test_groups_of_a_round_are_in_every_export():
    with eh.Study.create(":memory:", eh.groups.LinearThompson({"ann": "f", "bob": "m"}, seed=1), name="jobs") as study:
        said = [{"ann": "m", "bob": "f"}, ["f", "m"], None]
        for groups in said:
            study.tell(study.ask([[0.3, 1.0], [0.2, 2.0]], groups=groups), 1.0)
        assert [given.get("groups") for given in study.frame()["given"]] == said
        table = bandit_frame(study)
        assert table["groups"].tolist() == said
        text = io.StringIO(flat(table).to_csv(index=False))
        assert read_csv(text)["groups"].tolist() == said


@pytest.mark.parametrize("name", POLICIES)
def test_every_door_has_a_word_for_each_argument(name):
    shell = {"X": "rows", "y": "rows", "label": "reward", "n": "count"}
    for method, body, words in (("ask", AskBody, decide.ask), ("tell", TellBody, decide.tell)):
        options = inspect.signature(words).parameters
        for argument in parameters(name, method):
            assert shell.get(argument, argument) in options
            assert ("count" if argument == "n" else argument) in body.model_fields
            for client in (RemoteStudy, AsyncRemoteStudy) if argument != "n" else ():
                calls = getattr(client, method), client.label
                assert any(argument in inspect.signature(call).parameters for call in calls)


# One value in many forms: the study takes what its policy takes, means the same, and refuses the same


MADE = {
    "grouped": lambda: eh.groups.GroupFairTopInterval({"ann": "f", "bob": "m"}, "f", seed=1),
    "numbered": lambda: eh.groups.GroupFairTopInterval({1: "f", 0: "m"}, "f", seed=1),
    "offered": lambda: eh.quotas.DeadlineLearn(eh.learners.UCB1(), {1: 0.2, 0: 0.2, 2: 0.2}, seed=1),
    "changing": lambda: eh.quotas.DeadlineLearn(eh.learners.UCB1(), {1: 0.1, 0: 0.2}, seed=1),
    "slate": lambda: eh.quotas.DeadlineLearn(eh.learners.UCB1(), eh.Promise({1: 0, 0: 0}, plays=2), seed=1),
    "drawing": lambda: eh.sampling.UniformSampler(["g", "h"], eh.sampling.LogisticModel(), batch=4, budget=40, seed=1),
}
PEOPLE = [[0.5, 1.0], [0.25, 2.0]]
GROUPS = [
    *({"ann": "m", "bob": "f"}, pd.Series({"bob": "f", "ann": "m"}), MappingProxyType({"ann": "m"})),
    *(several(["m", "f"]) for several in (list, pl.Series, pd.Categorical, deque)),
    *(["m"], b"mf"),
]
OFFERS = [
    *([1, 2], {1: 0, 2: 0}.keys(), pd.Series([2, 1], index=[7, 5]), pa.chunked_array([[1, 2]])),
    *(["1", "2"], "1", [True], {1: True}, [object()]),
]
REWARDS = [[1, 0], {0: 1, 1: 0}, pd.Series([1.0, 0.0], index=[4, 5]), [Decimal("0.5"), Fraction(1, 3)], 1.0]
CONTEXTS = [
    np.array(PEOPLE, np.float32),
    pd.DataFrame(PEOPLE[::-1], index=["bob", "ann"]),
    [[Decimal("0.5"), Fraction(1, 3)], [0, 1]],
    pd.Series({"u": 1.0, "v": 2.0}),
    memoryview(np.array(PEOPLE)),
    [[Fraction(10**400), 1], [0, 1]],
]
ALONE = [Decimal("0.5"), True, "1", pd.Series([1.0]), Fraction(10**400), object()]
TABLES = [pd.DataFrame({"a": [3.0, 2.0, 1.0, 0.0]}, index=index) for index in ([3, 2, 1, 0], None, [*"abcd"])]
LABELS = [pd.Series([0, 1, 2, 3]), pd.Series([0, 1, 2, 3], index=[*"dcba"]), [3, 2, 1, 0]]
SHARES = [pd.Series({0: 0.7, 1: 0.1}), {"0": Fraction(1, 3), "1": Decimal("0.1")}, [0.7, 0.1]]
FORMS = [
    *(("grouped", "ask", {"contexts": PEOPLE, "groups": groups}) for groups in GROUPS),
    ("numbered", "ask", {"contexts": PEOPLE, "groups": pd.Series({0: "f", 1: "m"})}),
    *(("grouped", "ask", {"contexts": contexts}) for contexts in CONTEXTS),
    *(("offered", "ask", {"available": offer}) for offer in OFFERS),
    *(("offered", "tell", {"reward": reward}) for reward in ALONE),
    *(("slate", "tell", {"reward": reward}) for reward in REWARDS),
    *(("drawing", "tell", {"X": X, "y": y}) for X, y in itertools.product(TABLES, LABELS)),
    *(("changing", "change", {"shares": shares}) for shares in SHARES),
]


@pytest.mark.parametrize(("made", "method", "given"), FORMS)
@pytest.mark.filterwarnings("ignore:y. rows are matched")  # as numbers name them, which may be no labels
def test_a_study_reads_every_form_of_a_value_as_its_policy_does(made, method, given):
    def answer(of):
        decision = [of.ask()] if method == "tell" else []
        return outcome(getattr(of, method), *decision, **given)

    alone = MADE[made]()
    with eh.Study.create(":memory:", MADE[made](), name="one") as study:
        own, through = answer(alone), answer(study)
        if isinstance(own, str):
            assert isinstance(through, str)
            assert through.partition(":")[0] in (own.partition(":")[0], "ArgumentError")
        else:
            assert not isinstance(through, str) or through == "told", through
            assert str(study.policy.snapshot()) == str(alone.snapshot())
        assert study.verify().ok


def test_an_iterator_is_read_once_for_all_decisions():
    with eh.Study.create(":memory:", MADE["offered"](), name="one") as study:
        decisions = study.ask(available=iter([1, 2]), count=2)
        assert [study.log.record(one).given for one in decisions] == [{"available": [1, 2]}] * 2
