"""A provider of OpenFeature flags: a flag is a decision of the study of the same name, a tracking event its reward.

    openfeature.api.set_provider(EvenhandProvider(Client("http://localhost:8000"), events={"purchase": "banner"}))
    flags = openfeature.api.get_client()
    banner = flags.get_string_value("banner", "plain", EvaluationContext("visitor-17"))
    flags.track("purchase", EvaluationContext("visitor-17"), TrackingEventDetails(1.0))

It needs the official SDK: `pip install 'evenhand[openfeature]'`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic
from typing import Any, TypeVar

from evenhand.client.answers import ServiceDecision
from evenhand.client.calls import read_sticky, ticket_of
from evenhand.client.client import Client, RemoteStudy
from evenhand.errors import (
    ArgumentError,
    EvenhandError,
    MissingExtraError,
    ServiceError,
    UnknownStudyError,
    UnknownTicketError,
    expected,
)
from evenhand.processes import renew_in_child

try:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.exception import (
        FlagNotFoundError,
        GeneralError,
        InvalidContextError,
        TargetingKeyMissingError,
        TypeMismatchError,
    )
    from openfeature.flag_evaluation import FlagResolutionDetails, Reason
    from openfeature.provider import AbstractProvider, Metadata
    from openfeature.track import TrackingEventDetails
except ImportError as error:
    raise MissingExtraError(
        "evenhand.client.openfeature needs openfeature-sdk: pip install 'evenhand[openfeature]'"
    ) from error

T = TypeVar("T")
SWITCHES = {"true": True, "on": True, "false": False, "off": False}
SHOWN = ("contexts", "groups", "available", "scores")
"""The attributes of an evaluation context that `ask` takes under the same names."""
FAILURES, PROBE = 3, 5.0
"""After so many failures in a row the service is away; it is then asked every so many seconds whether it is back."""
UNKNOWN = 60.0
"""Seconds for which the service is not asked again for a flag that it does not know: every page may send an event."""
LOG = logging.getLogger(__name__)


def _shown(flag: str, attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a round shows: the attributes of the evaluation context that `ask` takes by name, and the others,
    among which the policy finds its named features."""
    shown = {name: attributes[name] for name in SHOWN if name in attributes}
    plain = {name: one for name, one in attributes.items() if name not in SHOWN and isinstance(one, (str, int, float))}
    return shown | ({"attributes": plain} if plain and not {"contexts", "scores"} & {*shown} else {})


class EvenhandProvider(AbstractProvider):
    """Resolves each flag, such as `ads`, by a decision of the study of the same name.

    A text flag has the arm as its value; a boolean one, an arm called true, on, false or off; a numeric one, an arm
    that is a number; an object, the service's whole response. The variant is the arm, and the metadata hold the
    `ticket`, the `reason` and, where the arm was drawn, its `propensity`. A failure gives the default and its code;
    after three without an answer the default is given at once, until the service is back.

    Parameters
    ----------
    client : a client whose key may decide and report; the caller closes it.
    sticky : whether a targeting key always gets its first decision of a flag, whatever the evaluation context says
        later: it becomes the idempotency key.
    events : the flag that each tracking event rewards; an event that is not named rewards the flag of its own name.
    observe : a function that makes the arguments of `ask` from the flag and the attributes of the evaluation context;
        by default they are the attributes called contexts, groups, available and scores, and `attributes`: all plain
        others, of which the policy takes those that are its named features.
    remember : how many tickets are remembered for tracking events; the oldest are forgotten first.
    """

    def __init__(
        self,
        client: Client,
        *,
        sticky: bool = False,
        events: Mapping[str, str] | None = None,
        observe: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] = _shown,
        remember: int = 100_000,
    ) -> None:
        super().__init__()
        if not isinstance(client, Client):
            raise ArgumentError(expected("client", "an evenhand.client.Client", client))
        self._client, self._sticky, self._events = client, read_sticky(sticky), dict(events or {})
        self._observe, self._remember = observe, remember
        self._tickets: OrderedDict[tuple[str, str], str] = OrderedDict()
        self._unknown: dict[str, float] = {}
        self._begin()
        renew_in_child(self, EvenhandProvider._begin)

    def _begin(self) -> None:
        """Begin to take events, in this process: those that wait in a parent are sent there."""
        self._lock, self._reports = threading.Lock(), ThreadPoolExecutor(1, "evenhand-reports")
        self._failures, self._next_probe = 0, 0.0

    def get_metadata(self) -> Metadata:
        return Metadata("evenhand")

    def shutdown(self) -> None:
        """Send the rewards of all events so far."""
        with self._lock:
            reports, self._reports = self._reports, ThreadPoolExecutor(1, "evenhand-reports")
        reports.shutdown()

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Tell the value of an event (1 by default) as the reward of the last decision for its targeting key, or of the
        `ticket` in its attributes.

        It is sent in the background. The decision of a sticky provider may have been taken in another process. An event
        that comes twice changes nothing; one that cannot be told is logged as a warning: it has no decision, comes too
        late, or differs from what was told before.
        """
        details = tracking_event_details or TrackingEventDetails()
        flag = self._events.get(tracking_event_name, tracking_event_name)
        target = evaluation_context.targeting_key if evaluation_context else None
        reward = 1.0 if details.value is None else details.value
        with self._lock:
            ticket = details.attributes.get("ticket") or self._tickets.get((flag, target or ""))
            self._reports.submit(self._tell, tracking_event_name, flag, target, ticket, reward)

    def _tell(self, event: str, flag: str, target: str | None, ticket: Any, reward: float) -> None:
        try:
            ticket = ticket_of(self._decided(flag, target) if ticket is None else ticket)
            self._client.study(ticket.partition(".")[0]).tell(ticket, reward)
        except EvenhandError as error:
            LOG.warning("the event %r of %r was not told: %s", event, target, error)

    def _decided(self, flag: str, target: str | None) -> ServiceDecision:
        """Return the decision for a targeting key that another process took, or that is no longer remembered."""
        if not self._sticky or not target:
            hint = "a sticky provider finds those of other processes; elsewhere name the ticket in the attributes"
            raise UnknownTicketError(f"this process has no decision of {flag!r} for this targeting key; {hint}")
        if monotonic() < self._unknown.get(flag, 0.0):
            hint = "it is asked again after a minute; events= names the flags of events"
            raise UnknownStudyError(f"the service has no study {flag!r}; {hint}")
        try:
            return _first(self._client.study(flag), _key(target))
        except UnknownStudyError:
            self._unknown[flag] = monotonic() + UNKNOWN
            raise
        except ArgumentError as error:
            raise UnknownTicketError(f"the study {flag!r} has no decision for this targeting key") from error

    def _resolve(
        self, flag: str, context: EvaluationContext | None, value_of: Callable[[ServiceDecision], T | None]
    ) -> FlagResolutionDetails[T]:
        context = context or EvaluationContext()
        decision = self._decide(flag, context)
        value = value_of(decision)
        if value is None:
            if not self._sticky:  # another evaluation, also in another process, may use a key's decision
                with suppress(EvenhandError):
                    self._client.study(flag).forget(decision)
            raise TypeMismatchError(f"the study {flag} decided for {decision.arm!r}, which is of another type")
        if context.targeting_key:
            self._keep((flag, context.targeting_key), decision.ticket)
        told = {name: getattr(decision, name) for name in ("ticket", "reason", "reason_code", "propensity")}
        metadata = {name: word for name, word in told.items() if word is not None}
        return FlagResolutionDetails(value, reason=Reason.SPLIT, variant=str(decision.arm), flag_metadata=metadata)

    def _decide(self, flag: str, context: EvaluationContext) -> ServiceDecision:
        if self._sticky and not context.targeting_key:
            raise TargetingKeyMissingError("a sticky flag needs a targeting key")
        if self._is_away():
            raise GeneralError(f"the service gave no answer; it is asked every {PROBE:g} seconds whether it is back")
        key = _key(context.targeting_key) if self._sticky and context.targeting_key else None
        try:
            study = self._client.study(flag)
            try:
                shown = self._observe(flag, context.attributes)
                asked = {name: shown.get(name) for name in (*SHOWN, "attributes")}
                found = study.ask(**asked, key=key, sticky=self._sticky)
                self._failures = 0
                return found
            except UnknownStudyError:
                raise
            except Exception as error:  # also one that `observe` raises: a visitor who comes again has her decision
                if key is None or _unanswered(error):
                    raise
                with suppress(EvenhandError):
                    return _first(study, key)
                raise
        except UnknownStudyError as error:
            raise FlagNotFoundError(str(error)) from error
        except ArgumentError as error:
            raise InvalidContextError(str(error)) from error
        except EvenhandError as error:
            self._failures += _unanswered(error)
            raise GeneralError(str(error)) from error

    def _is_away(self) -> bool:
        """Return whether the service is known to be away; now and then look in the background whether it is back."""
        with self._lock:
            away = self._failures >= FAILURES
            if away and monotonic() >= self._next_probe:
                self._next_probe = monotonic() + PROBE
                threading.Thread(target=self._probe, name="evenhand-probe", daemon=True).start()
        return away

    def _probe(self) -> None:
        try:
            self._client.studies()
        except EvenhandError as error:
            if _unanswered(error):
                return
        self._failures = 0

    def _keep(self, place: tuple[str, str], ticket: str) -> None:
        with self._lock:
            self._tickets[place] = ticket
            self._tickets.move_to_end(place)
            if len(self._tickets) > self._remember:
                self._tickets.popitem(last=False)

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        return self._resolve(flag_key, evaluation_context, lambda decision: str(decision.arm))

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        return self._resolve(flag_key, evaluation_context, lambda decision: SWITCHES.get(str(decision.arm).lower()))

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        return self._resolve(flag_key, evaluation_context, lambda decision: _number(int, decision.arm))

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        return self._resolve(flag_key, evaluation_context, lambda decision: _number(float, decision.arm))

    def resolve_object_details(
        self, flag_key: str, default_value: Any, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[Any]:
        return self._resolve(flag_key, evaluation_context, lambda decision: dict(decision.fields))

    # The SDK's own call the methods above in the event loop, which would wait for the service.

    async def resolve_string_details_async(self, *given: Any, **named: Any) -> FlagResolutionDetails[str]:
        return await asyncio.to_thread(self.resolve_string_details, *given, **named)

    async def resolve_boolean_details_async(self, *given: Any, **named: Any) -> FlagResolutionDetails[bool]:
        return await asyncio.to_thread(self.resolve_boolean_details, *given, **named)

    async def resolve_integer_details_async(self, *given: Any, **named: Any) -> FlagResolutionDetails[int]:
        return await asyncio.to_thread(self.resolve_integer_details, *given, **named)

    async def resolve_float_details_async(self, *given: Any, **named: Any) -> FlagResolutionDetails[float]:
        return await asyncio.to_thread(self.resolve_float_details, *given, **named)

    async def resolve_object_details_async(self, *given: Any, **named: Any) -> FlagResolutionDetails[Any]:
        return await asyncio.to_thread(self.resolve_object_details, *given, **named)


def _first(study: RemoteStudy, key: str) -> ServiceDecision:
    """Return the first decision under a key; without an offer none is taken where there is none yet."""
    return study.ask(available=(), key=key, sticky=True)


def _unanswered(error: Exception) -> bool:
    """Return whether no service answered, or only what stands before one."""
    return isinstance(error, ServiceError) and error.status in (None, 502, 503, 504)


def _number(kind: Callable[[str], T], arm: Any) -> T | None:
    """Return an arm's label as a number, or None if it is not written as one: 01 and 1_0 are texts."""
    try:
        value = json.loads(str(arm))
    except ValueError:
        return None
    return kind(value) if type(value) in (int, kind) else None


def _key(targeting_key: str) -> str:
    """Return the idempotency key for a targeting key: the same as the provider in TypeScript uses.

    >>> _key("visitor-17")
    'openfeature/visitor-17'
    """
    if re.fullmatch("[!-~]{1,80}", targeting_key):
        return f"openfeature/{targeting_key}"
    return f"openfeature/{hashlib.sha256(targeting_key.encode()).hexdigest()}"
