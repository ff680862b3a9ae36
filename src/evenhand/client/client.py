# Generated from async_client.py by `make clients`: change that file.
"""The client: a connection to a service, and the studies behind it.

Everything is written in `async_client.py`, for programs that run on asyncio; `client.py` is generated from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import sleep
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from evenhand.client import calls, reads
from evenhand.client.calls import Call, Label, Told
from evenhand.client.connection import Connection, import_httpx, read
from evenhand.client.decision import Decision
from evenhand.errors import EvenhandError, ServiceError

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")


class Client:
    """A connection to `evenhand serve`.

    Threads or tasks may share it. It repeats requests that fail on the way, and those that the service answers with 429
    or 503, after a pause that grows and is partly random; a repeated ask returns the same decision, and a repeated tell
    counts once. Where the service says how long to wait, the client waits so long.

    Parameters
    ----------
    url : the service's address, such as http://localhost:8000; from the environment variable EVENHAND_URL if None.
    key : the text of a key, or several of different roles; from EVENHAND_KEY (separated by spaces) if None.
    timeout : the seconds that each attempt may take.
    retries : how many times a request is repeated at most.
    seed : of the random parts of the pauses.
    transport : a transport of httpx in place of the network, as for a proxy or a test.

    Raises
    ------
    ArgumentError
        If an argument is not what was wanted.
    MissingExtraError
        If httpx is not installed.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | Sequence[str] | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        seed: int | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, key, timeout, retries, seed)
        self._http: httpx.Client = import_httpx().Client(transport=transport)

    def study(self, name: str) -> RemoteStudy:
        """Return a study by its name; nothing is sent yet."""
        return RemoteStudy(self, calls.checked_name(name))

    def studies(self) -> list[dict[str, Any]]:
        """Return the outline of every study of the service."""
        return self._send(reads.studies())

    def create(self, name: str, policy: Mapping[str, Any], *, expire_after: float | str | None = None) -> RemoteStudy:
        """Create a study: `policy` names one beside its arguments, as {"policy": "quotas/fair-ucb", "shares": ...}."""
        return self.study(self._send(calls.create(name, policy, expire_after)))

    def _send(self, call: Call[T]) -> T:
        """Send a request until it is answered, and return what its method returns."""
        if self._http.is_closed:
            raise ServiceError("the client is closed; make a new one")
        attempt = 0
        while True:
            attempt += 1
            try:
                response = self._http.request(**self._connection.request(call))
            except import_httpx().RequestError as error:
                pause = self._connection.pause_after_error(call, attempt, error)
            else:
                if response.is_success:
                    return read(call, response.content)
                pause = self._connection.pause_after_refusal(call, attempt, response)
            sleep(pause)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"


class RemoteStudy:
    """A study of a service. The methods have the names of `evenhand.Study`."""

    def __init__(self, client: Client, name: str) -> None:
        self._client, self.name = client, name

    def ask(
        self,
        *,
        contexts: Any = None,
        groups: Any = None,
        available: Sequence[Label] | None = None,
        segment: Label | None = None,
        annotator: str | None = None,
        key: str | None = None,
        sticky: bool = False,
        subject: str | None = None,
    ) -> Decision:
        """Return a decision. Asking again with the same `key` returns the same one; another ask under it is refused.

        With `sticky` the key alone decides: asking again returns its first decision, whatever else is given then.
        `subject` says whom the contexts are about: the service encrypts them, and can erase them.
        """
        shown = calls.shown(contexts, groups, available, segment, annotator, subject)
        return self._client._send(calls.ask(self.name, shown, key, sticky=sticky))

    def ask_many(
        self, rounds: int | Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> list[Decision | EvenhandError]:
        """Return so many decisions, or one for each mapping of `ask`'s arguments.

        A round that is refused is an error in the list; the others are decided.
        """
        return self._client._send(calls.ask_many(self.name, rounds, key))

    def tell(
        self,
        ticket: Decision | str,
        reward: Any = None,
        *,
        violations: Any = None,
        acceptable: Any = None,
        auditor: str | None = None,
        X: Any = None,
        y: Any = None,
        samples: Mapping[str, Any] | None = None,
    ) -> Told:
        """Tell what happened after a decision. The same report again is "already told", another one is refused."""
        call = calls.tell(self.name, ticket, reward, violations, acceptable, auditor, X, y, samples)
        return self._client._send(call)

    def label(self, ticket: Decision | str, label: Label | None, *, annotator: str | None = None) -> Told:
        """Tell the label of an item, or None to reject the item."""
        return self._client._send(calls.label(self.name, ticket, label, annotator))

    def tell_many(
        self, reports: Iterable[tuple[Decision | str, Any] | Mapping[str, Any]]
    ) -> list[Told | EvenhandError]:
        """Tell many rewards: pairs of a ticket and a reward, or mappings of `tell`'s arguments.

        A report that is refused is an error in the list; the others are told.
        """
        return self._client._send(calls.tell_many(self.name, reports))

    def forget(self, ticket: Decision | str) -> Literal["forgotten", "already forgotten"]:
        """Close a ticket whose outcome will never be known."""
        return self._client._send(calls.forget(self.name, ticket))

    def add(self, arm: Label, share: float | str = 0) -> int:
        """Put an arm on offer; return after how many rounds its promise begins."""
        return self._client._send(calls.add(self.name, arm, share))

    def retire(self, arm: Label) -> None:
        """Take an arm off offer."""
        self._client._send(calls.retire(self.name, arm))

    def change(
        self, shares: Mapping[str, Any] | Sequence[Any] | None = None, *, promise: Mapping[str, Any] | None = None
    ) -> dict[Any, Any]:
        """Promise other shares, or everything else; return what is not carried over.

        Parameters
        ----------
        shares : the share of each arm on offer; the rest of the promise stays.
        promise : everything that is promised from now on, as `eh.Promise.to_dict` returns it.

        Returns
        -------
        dict
            By how many plays each arm, or each set of arms as a tuple, was behind that is not carried over; of a study
            with segments, that by segment.
        """
        return self._client._send(calls.change(self.name, shares, promise))

    def state(self) -> dict[str, Any]:
        """Return the present state: arms with their shares, the promise, rewards."""
        return self._client._send(reads.state(self.name))

    def shares(self) -> dict[Any, float]:
        """Return the share of the decisions that each arm has had."""
        return self._client._send(reads.shares(self.name))

    def decisions(
        self,
        *,
        before: int | None = None,
        limit: int = 50,
        arm: str | None = None,
        reason: str | None = None,
        open: bool | None = None,
    ) -> dict[str, Any]:
        """Return `decisions`, newest first, and in `next` the `before` of the next page."""
        return self._client._send(reads.decisions(self.name, before, limit, arm, reason, open))

    def record(self, id: int) -> dict[str, Any]:
        """Return everything on record about one decision."""
        return self._client._send(reads.record(self.name, id))

    def series(self, points: int = 400) -> dict[str, Any]:
        """Return shares, shortfalls and rewards over time, at about so many rounds."""
        return self._client._send(reads.series(self.name, points))

    def history(self, *, form: Literal["log", "bandit"] = "log", timeout: float = 600.0) -> list[dict[str, Any]]:
        """Return a row for each decision; `form="bandit"` has propensities for off-policy estimators."""
        return self._client._send(reads.history(self.name, form, timeout))

    def download(
        self,
        *,
        format: Literal["csv", "parquet", "json"] = "csv",
        form: Literal["log", "bandit"] = "log",
        timeout: float = 600.0,
    ) -> bytes:
        """Return all decisions as the content of a file."""
        return self._client._send(reads.download(self.name, format, form, timeout))

    def verify(self, *, timeout: float = 600.0) -> dict[str, Any]:
        """Have the service replay the whole log and check the promise at every round; `ok` says whether it held."""
        return self._client._send(reads.verify(self.name, timeout))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} of {self._client!r})"
