"""Group commit, over a study that only counts."""

import asyncio
import threading

import pytest

from evenhand.errors import StoreError, UnknownTicketError
from evenhand.service.errors import HttpRefusal
from evenhand.service.writer import Writer


class Counting:
    """Performs operations by numbering them; holds still until it is let go."""

    def __init__(self):
        self.groups = []
        self.committed = []
        self.free = threading.Event()
        self.free.set()
        self.entered = threading.Event()

    def run(self, operations):
        self.entered.set()
        self.free.wait()
        if "poison" in operations:
            raise RuntimeError("a defect")
        if "gone" in operations:
            raise StoreError("the store is gone")
        self.groups.append(len(operations))
        self.committed.extend(operations)
        return [UnknownTicketError("no") if op == "bad" else f"did {op}" for op in operations]


def outcomes(study, *requests, **settings):
    """Run requests on a writer of their own, those behind the first in one group; return what comes of each."""
    writer = Writer(study, **settings)
    found = asyncio.run(together(study, writer, *requests))
    writer.stop()
    assert writer._waiting == 0
    return found


async def begun(study, writer, first, *others):
    """Have the first held within its transaction, and the others wait behind it; return their tasks."""
    study.free.clear()
    study.entered.clear()
    tasks = [asyncio.create_task(writer.run(first))]
    await asyncio.to_thread(study.entered.wait)
    tasks += [asyncio.create_task(writer.run(one)) for one in others]
    await asyncio.sleep(0)
    return tasks


async def together(study, writer, *requests):
    """Run all but the first in one group, behind it."""
    tasks = await begun(study, writer, *requests)
    study.free.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
def study():
    return Counting()


@pytest.fixture
def writer(study):
    one = Writer(study)
    yield one
    study.free.set()
    one.stop()


def test_what_waits_together_is_one_transaction_and_each_gets_its_own(study):
    given = [[f"{i}.{j}" for j in range(i % 3 + 1)] for i in range(40)]
    found = outcomes(study, ["first"], *given)
    assert found[1:] == [[f"did {op}" for op in ops] for ops in given]
    assert study.groups == [1, sum(map(len, given))]


def test_no_group_is_larger_than_a_transaction_may_be(study):
    found = outcomes(study, ["first"], *[["a", "b"]] * 6, ["x"] * 9, most=5)
    assert study.groups == [1, 5, 5, 5, 5, 1]
    assert found[1:] == [*[["did a", "did b"]] * 6, ["did x"] * 9]


@pytest.mark.parametrize("batches", [1, 9, 40])
def test_a_small_request_is_in_the_next_transaction_however_large_the_others_are(study, batches):
    many = [[f"{i}.{j}" for j in range(1000)] for i in range(batches)]
    found = outcomes(study, ["first"], *many, ["small"], ["two", "of them"], most=50)
    assert {"small", "two"} <= set(study.committed[1:51])
    assert "of them" in study.committed[1:101]
    assert found[1:-2] == [[f"did {op}" for op in batch] for batch in many]
    assert (max(study.groups), sum(study.groups)) == (50, 1000 * batches + 4)


def test_batches_of_one_size_end_together(study):
    """None has had more than one transaction's share more than another."""
    outcomes(study, ["first"], *[[i] * 1000 for i in range(5)], most=50)
    for end in range(51, 5001, 50):
        counts = [study.committed[1:end].count(i) for i in range(5)]
        assert max(counts) - min(counts) <= 10


@pytest.mark.parametrize("fault", ["poison", "gone"])
def test_where_a_batch_fails_half_way_nothing_more_of_it_is_tried(study, fault):
    batch = [*range(25), fault, *range(50)]
    found = outcomes(study, ["first"], batch, most=10)
    assert isinstance(found[1], RuntimeError if fault == "poison" else StoreError)
    assert study.committed == ["first", *range(20)]


def test_batches_that_fill_the_queue_leave_room_for_small_requests(study):
    found = outcomes(study, ["first"], ["a"] * 90, ["b"] * 11, ["c"], queue=100, most=10)
    assert found[1] == ["did a"] * 90
    assert (found[2].status, found[2].headers["Retry-After"]) == (503, "1")
    assert "b" not in study.committed
    assert found[3] == ["did c"]


def test_an_answer_comes_only_after_the_commit(study, writer):
    async def asked():
        (task,) = await begun(study, writer, ["one"])
        before = task.done(), list(study.committed)
        study.free.set()
        await task
        return before, list(study.committed)

    assert asyncio.run(asked()) == ((False, []), ["one"])


@pytest.mark.parametrize(
    ("brought", "told", "done"),
    [
        ("bad", [list, list, list], ["a", "bad", "b"]),
        ("gone", [list, StoreError, StoreError], ["a"]),
        ("poison", [list, RuntimeError, list], ["a", "b"]),
    ],
    ids=["a refusal", "a store that is gone", "a defect"],
)
def test_a_defect_hits_only_the_request_that_brings_it(study, brought, told, done):
    """So does a refusal; that the store is gone is told to all in the group, and to none after it."""
    found = outcomes(study, ["a"], [brought], ["b"])
    assert [type(one) for one in found] == told
    assert brought != "bad" or isinstance(found[1][0], UnknownTicketError)
    assert outcomes(study, ["later"]) == [["did later"]]
    assert study.committed == [*done, "later"]


def test_stopping_does_and_answers_what_was_accepted_and_nothing_more(study):
    """A batch of several transactions too."""
    writer = Writer(study, most=2)

    async def stopped():
        tasks = await begun(study, writer, [0, 1, 2, 3, 4], [5])
        stopping = asyncio.create_task(asyncio.to_thread(writer.stop))
        while not writer._stopping:
            await asyncio.sleep(0)
        with pytest.raises(HttpRefusal, match="stopping") as refused:
            await writer.run(["late"])
        study.free.set()
        outcomes = await asyncio.gather(*tasks)
        await stopping
        return outcomes, refused.value.status

    assert asyncio.run(stopped()) == ([[f"did {i}" for i in range(5)], ["did 5"]], 503)
    assert sorted(study.committed) == list(range(6))


def test_who_goes_away_does_not_hold_up_the_others_and_leaves_them_no_answer(study, writer):
    async def left():
        first, gone, stays = await begun(study, writer, ["first"], ["goes away"], ["stays"])
        gone.cancel()
        study.free.set()
        return await first, await stays

    assert asyncio.run(left()) == (["did first"], ["did stays"])
    assert study.groups == [1, 2]


def test_what_comes_first_is_done_before_anything_is_run(study):
    seen = []
    one = Writer(study, first=lambda: seen.append(list(study.committed)))
    assert asyncio.run(one.run(["ask"])) == ["did ask"]
    one.stop()
    assert seen == [[]]


def test_an_answer_that_fails_holds_up_no_other(study, writer):
    async def submit_both():
        failures, answered = [], asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(str(context["exception"])))

        def fail(_):
            raise RuntimeError("the client's transport is gone")

        writer.submit(["a"], fail)
        writer.submit(["b"], answered.set_result)
        return await answered, failures

    assert asyncio.run(submit_both()) == (["did b"], ["the client's transport is gone"])
