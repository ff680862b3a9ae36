"""The client: a connection to a service, and the studies behind it.

Everything is written in `async_client.py`, for programs that run on asyncio; `client.py` is generated from it.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Callable, Iterable, Mapping, Sequence
from json import loads
from typing import TYPE_CHECKING, Any, Literal, Self

from evenhand.client import calls
from evenhand.client.answers import ServiceDecision, decision_of, error_of, label_of
from evenhand.client.calls import Call, Label, Role, Told
from evenhand.client.connection import Connection, import_httpx, read
from evenhand.errors import ArgumentError, EvenhandError, expected

if TYPE_CHECKING:
    import httpx


class AsyncClient:
    """A connection to `evenhand serve`.

    Threads, tasks, event loops and forked processes may share it; each process and each loop has its own connections.
    It repeats requests that fail on the way, and those that the service answers with 429 or 503, after a pause that
    grows and is partly random; a repeated ask returns the same decision, and a repeated tell counts once. Where the
    service says how long to wait, the client waits that long.

    Parameters
    ----------
    url : the service's address, such as http://localhost:8000, or those of several services on one store: the client
        stays with one as long as it answers. From the environment variable EVENHAND_URL (separated by spaces) if None.
    key : the text of a key, or several of different roles; from EVENHAND_KEY (separated by spaces) if None.
    timeout : the seconds that each attempt may take.
    retries : how many times a request is repeated at most.
    seed : the seed of the random parts of the pauses.
    transport : an httpx transport to use instead of the network, such as for a proxy or a test; forked processes cannot
        share it.

    Raises
    ------
    ArgumentError
        If an argument is invalid.
    MissingExtraError
        If httpx is not installed.
    """

    def __init__(
        self,
        url: str | Sequence[str] | None = None,
        *,
        key: str | Sequence[str] | None = None,
        timeout: float = 30.0,
        retries: int = 4,
        seed: int | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        kind = import_httpx().AsyncClient
        self._connection = Connection(url, key, timeout, retries, seed, kind, transport)

    def study(self, name: str) -> AsyncRemoteStudy:
        """Return a study by its name; nothing is sent yet."""
        return AsyncRemoteStudy(self, calls.read_name(name))

    async def studies(self) -> list[dict[str, Any]]:
        """Return the outline of every study of the service."""
        return await self._send(Call("GET", "/studies", "read", lambda content: loads(content)["studies"]))

    async def create(
        self,
        name: str,
        policy: Mapping[str, Any],
        *,
        expire_after: float | str | None = None,
        expire_reward: float | None = None,
    ) -> AsyncRemoteStudy:
        """Create a study; `policy` is a name with its arguments, as {"policy": "quotas/fair-ucb", "shares": ...}."""
        call = calls.creation(name, policy, expire_after, expire_reward)
        return self.study(await self._send(call))

    async def _send(self, call: Call) -> Any:
        """Send a request until it is answered, and return what its method returns."""
        attempt = 0
        while True:
            attempt += 1
            sent = self._connection.request(call)
            try:
                response = await self._connection.http().request(**sent)
            except import_httpx().RequestError as error:
                pause = self._connection.pause_after_error(call, attempt, error, sent["url"])
            else:
                if response.is_success:
                    return read(call, response.content)
                pause = self._connection.pause_after_refusal(call, attempt, response, sent["url"])
            await sleep(pause)

    async def close(self) -> None:
        """Close the connections of this process and, with asyncio, of this event loop; others keep theirs."""
        for http in self._connection.ended():
            await http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection.url!r})"


class AsyncRemoteStudy:
    """A study of a service; its methods have the names of those of `evenhand.Study`."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        self._client, self.name = client, name

    async def ask(
        self,
        contexts: Any = None,
        groups: Any = None,
        *,
        available: Sequence[Label] | None = None,
        annotator: str | None = None,
        weight: float | str | None = None,
        scores: Mapping[Any, float] | None = None,
        attributes: Mapping[str, Any] | None = None,
        key: str | None = None,
        sticky: bool = False,
        subject: str | None = None,
    ) -> ServiceDecision:
        """Return a decision; asking again with the same `key` returns the same one, or is refused with other arguments.

        With `sticky` the key alone counts: asking again returns its first decision, whatever else is given then.
        `scores`, arm -> score, are those of your own model, for a policy over `Scores`. Instead of contexts there may
        be `attributes`, of which the policy takes those that are its named features. `subject` says whom contexts are
        about: the service encrypts them, and can erase them.
        """
        if calls.read_sticky(sticky) and key is None:
            raise ArgumentError(expected("sticky", "a key as well", "none"))
        shown = {"contexts": contexts, "groups": groups, "available": available, "weight": weight, "scores": scores}
        about = {"attributes": attributes, "annotator": annotator, "subject": subject, "sticky": sticky or None}
        body = calls.round_of({**shown, **about})
        return await self._post("ask", "decide", body, decision_of, calls.checked_key(key))

    async def ask_many(
        self, rounds: int | Sequence[Mapping[str, Any]], *, key: str | None = None
    ) -> list[ServiceDecision | EvenhandError]:
        """Return a number of decisions, or one for each mapping of `ask`'s arguments.

        A round that is refused appears in the list as an error; the others are decided.
        """
        return await self._post("ask", "decide", calls.rounds_of(rounds), _decisions, calls.checked_key(key))

    async def tell(
        self,
        ticket: ServiceDecision | str,
        reward: Any = None,
        *,
        violations: Any = None,
        acceptable: Any = None,
        auditor: str | None = None,
        X: Any = None,
        y: Any = None,
        samples: Mapping[str, Any] | None = None,
        weight: float | str | None = None,
    ) -> Told:
        """Tell what happened after a decision; the same report again is "already told", another one is refused."""
        y = calls.listed(y)  # by position, as the rows of X, which is an array
        audited = {"violations": violations, "acceptable": acceptable, "auditor": auditor}
        told = calls.given({"reward": reward, **audited, "X": X, "y": y, "samples": samples, "weight": weight})
        return await self._post("tell", "report", {"ticket": calls.ticket_of(ticket), **told}, _status)

    async def label(self, ticket: ServiceDecision | str, label: Label | None, *, annotator: str | None = None) -> Told:
        """Tell the label of an item, or None to reject the item."""
        told = {"label": label, **calls.given({"annotator": annotator})}
        return await self._post("tell", "report", {"ticket": calls.ticket_of(ticket), **told}, _status)

    async def tell_many(
        self, reports: Iterable[tuple[ServiceDecision | str, Any] | Mapping[str, Any]]
    ) -> list[Told | EvenhandError]:
        """Tell many rewards: pairs of a ticket and a reward, or mappings of `tell`'s arguments.

        A report that is refused appears in the list as an error; the others are told.
        """
        return await self._post("tell", "report", {"batch": list(map(calls.report_of, reports))}, _statuses)

    async def forget(self, ticket: ServiceDecision | str) -> Literal["forgotten", "already forgotten"]:
        """Close a ticket whose outcome will never be known."""
        return await self._post("forget", "report", {"ticket": calls.ticket_of(ticket)}, _status)

    async def add(self, arm: Label, share: float | str = 0, *, cap: float | str | None = None) -> int:
        """Put an arm on offer, owed a share and at most its cap; return after how many rounds its promise begins."""
        body = {"arm": arm, "share": share, **calls.given({"cap": cap})}
        return await self._post("add", "decide", body, lambda sent: sent["begins_after"], repeatable=False)

    async def retire(self, arm: Label) -> None:
        """Take an arm off offer."""
        await self._post("retire", "decide", {"arm": arm}, _status, repeatable=False)

    async def change(
        self,
        shares: Mapping[str, Any] | Sequence[Any] | None = None,
        *,
        promise: Mapping[str, Any] | None = None,
        begins: str | None = None,
    ) -> dict[Any, Any]:
        """Replace the promised shares, or the whole promise; return the shortfalls that are not carried over.

        Parameters
        ----------
        shares : the share of each arm on offer; the rest of the promise stays, also shares of sets of arms.
        promise : everything that is promised from now on, as `eh.Promise.to_dict` returns it.
        begins : when the change is due, if not now: a time such as "2026-12-01T00:00+01:00" (UTC without a zone), a
            date, or a duration such as "12h". Without shares and promise, what was planned for then is withdrawn.

        Returns
        -------
        dict
            The shortfall in plays, of each arm and of each set of arms (a tuple), that is not carried over.
        """
        body = calls.given({"shares": shares, "promise": promise, "begins": begins})
        return await self._post("change", "decide", body, _dropped, repeatable=False)

    async def state(self) -> dict[str, Any]:
        """Return the present state: arms with their shares, the promise, rewards."""
        return await self._get("")

    async def shares(self) -> dict[Any, float]:
        """Return each arm's share of the decisions so far."""
        return await self._get("", _shares)

    async def decisions(
        self,
        *,
        before: int | None = None,
        limit: int = 50,
        arm: str | None = None,
        reason: str | None = None,
        open: bool | None = None,
    ) -> dict[str, Any]:
        """Return a page of `decisions`, newest first; `next` is the `before` of the next page."""
        return await self._get("/decisions", before=before, limit=limit, arm=arm, reason=reason, open=open)

    async def record(self, id: int) -> dict[str, Any]:
        """Return everything on record about one decision."""
        if not isinstance(id, int):
            raise ArgumentError(expected("id", "the number of a decision", id))
        return await self._get(f"/decisions/{id}")

    async def series(self, points: int = 400) -> dict[str, Any]:
        """Return shares, shortfalls and rewards over time, at about `points` rounds."""
        return await self._get("/series", points=points)

    async def history(self, *, form: Literal["log", "bandit"] = "log", timeout: float = 600.0) -> list[dict[str, Any]]:
        """Return a dict for each decision; `form="bandit"` has propensities for off-policy estimators."""
        return await self._get("/history", timeout=timeout, format="json", form=form)

    async def download(
        self,
        *,
        format: Literal["csv", "parquet", "json"] = "csv",
        form: Literal["log", "bandit"] = "log",
        timeout: float = 600.0,
    ) -> bytes:
        """Return all decisions as the content of a file."""
        return await self._get("/history", bytes, timeout, format=format, form=form)

    async def verify(self, *, timeout: float = 600.0) -> dict[str, Any]:
        """Have the service replay the whole log and check the promise at every round; `ok` says whether it held."""
        return await self._get("/audit", timeout=timeout)

    async def _get(
        self, place: str, read: Callable[[bytes], Any] = loads, timeout: float | None = None, **query: Any
    ) -> Any:
        path, query = f"/studies/{self.name}{place}", calls.given(query)
        return await self._client._send(Call("GET", path, "read", read, query=query, timeout=timeout))

    async def _post(
        self,
        what: str,
        role: Role,
        body: Mapping[str, Any],
        read: Callable[[Any], Any],
        key: str | None = None,
        *,
        repeatable: bool = True,
    ) -> Any:
        path = f"/studies/{self.name}/{what}"
        return await self._client._send(calls.post(path, role, body, read, key, repeatable=repeatable))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r} of {self._client!r})"


def _shares(content: bytes) -> dict[Any, float]:
    return {label_of(arm["label"]): arm["share"] or 0.0 for arm in loads(content)["arms"]}


def _decisions(sent: Any) -> list[ServiceDecision | EvenhandError]:
    return [error_of(row["error"]) if "error" in row else decision_of(row) for row in sent["decisions"]]


def _statuses(sent: Any) -> list[Told | EvenhandError]:
    return [error_of(row["error"]) if "error" in row else row["status"] for row in sent["results"]]


def _status(sent: Any) -> Any:
    return sent["status"]


def _dropped(sent: Any) -> dict[Any, Any]:
    return {label_of(row["label"]): row["plays"] for row in sent["dropped"]}
