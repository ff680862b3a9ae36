"""A service with several instances under a seeded scheduler: they share one study, and clients send their requests
to any of them, again and twice, go away, and are cut off.

Everything runs one after another, and every choice comes from one seed, so that a seed that fails fails again to the
letter. Instances are killed at any await and at any edge of a transaction, stopped while requests wait, suspended, and
started again; the store is slow, fails, and is gone for a while.
"""

from __future__ import annotations

import asyncio
import random
import traceback
from functools import cache
from types import SimpleNamespace
from typing import Any

import evenhand as eh
from evenhand.service.app import create_app
from evenhand.studies import Store, Study
from evenhand.studies.keys import add_key
from tests.service.simulated_clients import Client
from tests.service.simulated_judge import judge
from tests.service.simulated_loop import Loop
from tests.service.simulated_requests import Book, Broken, Call, Delivery
from tests.service.simulated_threads import Process, SimulatedThread
from tests.service.simulated_world import DAY, World

__all__ = ["Broken", "Service", "run"]

SETTINGS = [
    ({"a": "1/5", "b": "3/10"}, 3),
    ({"a": "1/2", "b": "1/2"}, 0),
    ({"a": "1/3", "b": "1/3", "c": "1/3"}, 2),
    ({"a": "1/2", "b": "1/3", "c": "0"}, 0),
    ({"a": "1/7", "b": "2/5"}, 0),
    ({"a": "1/10", "b": "1/20", "c": "1/4"}, 1),
]
LEARNERS = [eh.learners.UCB1, eh.learners.Thompson, eh.learners.DiscountedUCB]
NAME = "s"
TURNS = 40_000
"""Turns of threads within which all clients come to an end, and then all that they left behind."""
TROUBLES = {"kill": 2, "drain": 2, "stop_at_once": 1, "suspend": 2, "cancel": 3, "outage": 1}
PATIENT = 600.0
"""Seconds after which a request that has no answer never gets one: several waits for a disk may follow one another."""
BETWEEN = 1.0
"""Seconds between two troubles, on average."""


class Instance(Process):
    """A process with the application and its loop."""

    def __init__(self, service: Service, number: int) -> None:
        super().__init__(f"process {number}")
        self.service, self.world = service, service.world
        self.deliveries: list[Delivery] = []
        self.serving = self.ended = False
        """Whether it accepts requests, and whether it has stopped by itself."""
        SimulatedThread(service.scheduler, self, self._main, self.name).start()

    def deliver(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        self.loop.call_soon_threadsafe(delivery.arrive)

    def stop(self, patience: float, *, cancelling: bool) -> None:
        """Accept no more requests, wait so long for those that there are, cancel the rest or not, and end."""
        self.serving = False
        self.loop.call_soon_threadsafe(self._stopping.set_result, (patience, cancelling))

    def waiting(self) -> list[Delivery]:
        return [delivery for delivery in self.deliveries if not delivery.ended]

    def _main(self) -> None:
        self.app = create_app(self.service.store, log=defects(self.service.scheduler.failures))
        self.loop = Loop(self.service.scheduler)
        self.service.loops.append(self.loop)
        self._stopping: asyncio.Future[tuple[float, bool]] = self.loop.create_future()
        serve = self.loop.create_task(self._serve())
        self.loop.run_until(serve.done)
        serve.result()
        self.ended = self.dead = True

    async def _serve(self) -> None:
        """Serve as uvicorn does."""
        async with self.app.router.lifespan_context(self.app):
            self.serving = True
            patience, cancelling = await self._stopping
            await self._finish(patience)
            if cancelling:
                for delivery in self.waiting():
                    delivery.cancel()
        await self._finish(PATIENT)

    async def _finish(self, patience: float) -> None:
        """Wait for the requests that are not answered, but not longer."""
        end = self.loop.time() + patience
        while self.waiting() and self.loop.time() < end:
            await asyncio.sleep(0.05)


def defects(found: list[str]) -> Any:
    """Return a log that keeps only the defects."""

    def error(event: str, *, exc_info: BaseException | None = None, **fields: object) -> None:
        found.extend([] if exc_info is None else ["".join(traceback.format_exception(exc_info))])

    return SimpleNamespace(error=error, info=lambda event, **fields: None)


class Service:
    """One run of one seed; `log` says what happened, line by line."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(f"service {seed}")
        self.log: list[str] = []
        large = self.chance.random() < 0.1
        self.setting, self.learner = self.chance.randrange(len(SETTINGS)), self.chance.randrange(len(LEARNERS))
        self.shares, self.tolerance = SETTINGS[self.setting]
        self.expires = self.chance.random() < 0.3
        server, small = self.chance.random() < 0.5, self.chance.random() < 0.3
        self.world = World(self.chance, self.log, server=server, small=small)
        self.scheduler = self.world.scheduler
        self.book = Book(self.log)
        self.instances: list[Instance] = []
        self.loops: list[Loop] = []
        clients, requests = (4, 10) if large else (2, 4)
        self.clients = [Client(self, number, requests) for number in range(clients)]
        self.most = 4 if large else 2
        """How many instances there are at a time."""
        self.calm = False

    def run(self) -> None:
        """Let things happen, and judge them."""
        saved, self.key, self.reader = created(self.setting, self.learner, self.expires)
        with self.world.around():
            self.store = self.world.begin_with(saved)
            threads = [SimulatedThread(self.scheduler, None, client.run, "client") for client in self.clients]
            trouble = SimulatedThread(self.scheduler, None, self._make_trouble, "trouble")
            for thread in [*threads, trouble]:
                thread.start()
            self.world.faults = True
            self._wait(lambda: all(thread.finished for thread in threads), "a client does not come to an end")
            self._calm_down()
            self._recover()
            judge(self, Study.open(self.store, NAME), whole=self.chance.random() < 0.25)

    def _wait(self, ready, what: str) -> None:  # type: ignore[no-untyped-def]
        came = self.scheduler.run(ready, steps=TURNS)
        problems = [*self.scheduler.failures, *self.book.broken]
        if problems or not came:
            raise Broken("; ".join(problems) or what)

    def _calm_down(self) -> None:
        """End all faults, and let what is under way come to an end: no request waits for ever."""
        self.world.faults, self.calm, self.world.out_until = False, True, 0.0
        for instance in self.instances:
            instance.suspended_until = 0.0
        deliveries = [delivery for call in self.book.calls for delivery in call.deliveries]
        end = self.scheduler.time + PATIENT
        waited = [lambda one=one: one.over for one in deliveries]  # type: ignore[misc]
        self._wait(lambda: all(one() for one in waited) or self.scheduler.time > end, "the threads stand still")
        for delivery in deliveries:
            if not delivery.over:
                raise Broken(f"request {delivery.name} to {delivery.instance.name} is never answered")

    def _recover(self) -> None:
        """When all faults are over, every instance decides; then they stop."""
        while len(self._alive()) < self.most:
            self._start()
        alive = self._alive()
        self._wait(lambda: all(one.serving or one.dead for one in alive), "an instance does not start")
        serving = [instance for instance in alive if instance.serving]
        self.world.clock += 3 * DAY
        for instance in serving:
            if not self._decides(instance):
                raise Broken(f"{instance.name} does not decide in the end")
        for instance in serving:
            instance.stop(30.0, cancelling=True)
        self._wait(lambda: all(instance.dead for instance in alive), "an instance does not stop")

    def _decides(self, instance: Instance) -> bool:
        """Ask an instance for a decision, again while it refuses because others still wait."""
        call = self.call(Call(0, "POST", f"/studies/{NAME}/ask", {}, None, [(None, 0)]))
        end = self.scheduler.time + PATIENT
        while delivery := self.send(call, instance):
            self._wait(lambda one=delivery: one.over, "the last question is never answered")  # type: ignore[misc]
            if delivery.status != 503 or self.scheduler.time > end:
                return delivery.status == 200
            self.scheduler.sleep(BETWEEN)
        return False

    # ------------------------------------------------------------------ requests

    def call(self, call: Call) -> Call:
        """Give a request its number."""
        call.number = len(self.book.calls)
        self.book.calls.append(call)
        self.log.append(f"{call.number} {call.path} {call.key or ''} {call.named or call.tickets or ''}")
        return call

    def send(self, call: Call, instance: Instance | None = None) -> Delivery | None:
        """Send a request to an instance, or to any; None where there is none."""
        serving = [one for one in self.instances if one.serving and not one.dead]
        if instance is None and serving:
            instance = self.chance.choice(serving)
        if instance is None:
            return None
        delivery = Delivery(call, instance, self.book)
        self.log.append(f"  {delivery.name} to {instance.name}")
        instance.deliver(delivery)
        return delivery

    # ------------------------------------------------------------------ troubles

    def _alive(self) -> list[Instance]:
        return [instance for instance in self.instances if not instance.dead]

    def _start(self) -> None:
        self.instances.append(Instance(self, len(self.instances) + 1))

    def _make_trouble(self) -> None:
        while not self.calm:
            while len(self._alive()) < self.most and (not self._alive() or self.chance.random() < 0.7):
                self._start()
            self.scheduler.sleep(self.chance.expovariate(1 / BETWEEN))
            serving = [one for one in self._alive() if one.serving]
            if serving and not self.calm:
                kind = self.chance.choices([*TROUBLES], [*TROUBLES.values()])[0]
                busy = [instance for instance in serving if instance.waiting()]
                instance = self.chance.choice(busy or serving)
                self.log.append(f"{kind} {instance.name}")
                getattr(self, kind)(instance)

    def kill(self, instance: Instance) -> None:
        self.world.kill(instance, "where it is")

    def drain(self, instance: Instance) -> None:
        instance.stop(self.chance.choice([30.0, 30.0, 0.2]), cancelling=True)

    def stop_at_once(self, instance: Instance) -> None:
        """Stop while requests wait: each still gets an answer."""
        instance.stop(0.0, cancelling=False)

    def suspend(self, instance: Instance) -> None:
        instance.suspended_until = self.scheduler.time + self.chance.choice([1.0, 20.0, 60.0])

    def cancel(self, instance: Instance) -> None:
        if waiting := instance.waiting():
            self.chance.choice(waiting).cancel()

    def outage(self, instance: Instance) -> None:
        """Have the server be gone for a while; a file is always there."""
        if self.world.server:
            self.world.out_until = self.scheduler.time + self.chance.choice([1.0, 10.0, 60.0])


@cache
def created(setting: int, learner: int, expires: bool) -> tuple[bytes, str, str]:
    """Return the store of a new study, a key to ask and to tell, and one to read."""
    world, home = World(random.Random(0), [], server=False, small=False), Store.at(":memory:", create=True)
    shares, tolerance = SETTINGS[setting]
    with world.around():
        policy = eh.quotas.DeadlineLearn(LEARNERS[learner](), shares, tolerance, seed=7)
        Study.create(home, policy, name=NAME, expire_after="6h" if expires else None)
        keys = add_key(home, "both"), add_key(home, "read")
        with home.reading() as connection:
            saved = connection.connection.driver_connection.serialize()
    world.end()
    return saved, *keys


def run(seed: int) -> list[str]:
    """Run a seed; return what happened, line by line.

    Raises
    ------
    Broken
        If the judge finds anything.
    """
    service = Service(seed)
    try:
        service.run()
    except Exception as broken:
        raise Broken(f"seed {seed}: {broken!r}\n" + "\n".join(service.log)) from broken
    finally:
        service.world.end()
        for loop in service.loops:
            loop.end()
    return service.log
