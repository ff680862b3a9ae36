"""A strategy for LiteLLM's router that owes each model its floor.

    study = Client("http://localhost:8000").study("chat")  # or a policy, or an evenhand.Study
    routing = EvenhandRouting(router, {"chat": study})

Every request to the group `chat` is a decision of the study, and its outcome the reward: so every model has at least
its promised share of the requests, and the others go to the model that answers best. It needs LiteLLM:
`pip install 'evenhand[litellm]'`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.errors import ArgumentError, EvenhandError, MissingExtraError, wanted

try:
    import litellm
    from litellm.integrations.custom_logger import CustomLogger
    from litellm.router_utils.cooldown_handlers import get_cooldown_deployments
    from litellm.types.router import CustomRoutingStrategyBase
    from litellm.utils import get_excluded_filtered_deployments, get_order_filtered_deployments
except ImportError as error:
    raise MissingExtraError("evenhand.client.litellm needs litellm: pip install 'evenhand[litellm]'") from error

__all__ = ["EvenhandRouting", "Outcome"]

TOKEN = "evenhand"
"""The field of a request's metadata that names its decision."""
OPEN = 100_000
"""How many requests without an outcome are remembered."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """What came of a request.

    Attributes
    ----------
    decision : the decision of the study or policy, whose ticket may be told later.
    arm : the label of the deployment.
    ok : whether it answered.
    seconds, cost : how long that took, and LiteLLM's estimate of the cost in dollars, if it has one.
    response, exception : what it answered, or how it failed.
    """

    decision: Any
    arm: Any
    ok: bool
    seconds: float
    cost: float | None
    response: Any
    exception: BaseException | None


def _model(deployment: Mapping[str, Any]) -> str:
    """Return the model of a deployment, such as openai/gpt-4o."""
    return str(deployment["litellm_params"]["model"])


def _success(outcome: Outcome) -> float | None:
    """Return 1 for an answer and 0 for a failure."""
    return float(outcome.ok)


class EvenhandRouting(CustomRoutingStrategyBase, CustomLogger):  # type: ignore[misc]
    """Routes the requests of model groups by decisions of studies or policies.

    Each attempt is a round, those that the router repeats too. Deployments that cool down, or that LiteLLM leaves out
    for another reason, are not on offer in that round (`ask(available=...)`): a policy that takes this, such as
    `quotas/deadline-learn`, keeps each arm's promise over the rounds in which it was on offer. Groups that are not
    named, and requests for a certain deployment, are routed by LiteLLM as before. If a decision cannot be taken, the
    request fails with the error that says why.

    Parameters
    ----------
    router : a `litellm.Router`; the strategy is set at once, and `detach` takes it off again.
    studies : for each model group a policy, an `evenhand.Study`, or the study of an `evenhand.client.Client`.
    arm : the arm that a deployment belongs to: by default its model, `litellm_params["model"]`. Deployments of one arm
        take turns.
    reward : makes the reward of an outcome: by default 1 for an answer and 0 for a failure. None leaves the ticket of
        `outcome.decision` open, to be told later.

    Raises
    ------
    ArgumentError
        If a group has no deployments, or a policy has arms that none of them belongs to.
    """

    def __init__(
        self,
        router: Any,
        studies: Mapping[str, Any],
        *,
        arm: Callable[[Mapping[str, Any]], Any] = _model,
        reward: Callable[[Outcome], float | None] = _success,
    ) -> None:
        super().__init__()
        self._router, self._studies, self._arm, self._reward = router, dict(studies), arm, reward
        for group, study in self._studies.items():
            self._check(group, study)
        self._lock = threading.Lock()
        self._turns: dict[tuple[str, Any], int] = {}
        self._open: OrderedDict[str, tuple[Any, Any]] = OrderedDict()
        router.set_custom_routing_strategy(self)
        litellm.logging_callback_manager.add_litellm_callback(self)

    def detach(self) -> None:
        """Let LiteLLM route all groups as before; outcomes are told no more."""
        for name in ("get_available_deployment", "async_get_available_deployment"):
            vars(self._router).pop(name, None)
        litellm.logging_callback_manager.remove_callback_from_all_lists(self)

    def _check(self, group: str, study: Any) -> None:
        """Refuse a group whose deployments are not the arms of its policy."""
        arms = set(self._arms(self._router.get_model_list(model_name=group) or []))
        if not arms:
            raise ArgumentError(wanted("studies", f"groups of the router: {self._router.model_names}", group))
        if inspect.iscoroutinefunction(getattr(study, "ask", None)) or not callable(getattr(study, "ask", None)):
            raise ArgumentError(wanted("studies", "policies, or studies that do not need await", study))
        known = set(getattr(study, "arms", arms))
        if known != arms:
            mend = "give arm= the label of each deployment"
            raise ArgumentError(
                wanted("studies", f"arms called {sorted(map(str, arms))}", sorted(map(str, known)), mend)
            )

    def get_available_deployment(
        self,
        model: str,
        messages: list[Any] | None = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the deployment for a request; LiteLLM calls this."""
        group = self._group(model)
        if specific_deployment or group is None or request_kwargs is None:
            return self._by_litellm(
                "get_available_deployment", model, messages, input, specific_deployment, request_kwargs
            )
        healthy = self._healthy(group, request_kwargs)
        if not healthy:
            return self._by_litellm(
                "get_available_deployment", model, messages, input, specific_deployment, request_kwargs
            )
        return self._choose(group, healthy, request_kwargs)

    async def async_get_available_deployment(
        self,
        model: str,
        messages: list[Any] | None = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return the deployment for a request on asyncio; LiteLLM calls this."""
        group = self._group(model)
        if specific_deployment or group is None or request_kwargs is None:
            return await self._by_litellm(
                "async_get_available_deployment", model, messages, input, specific_deployment, request_kwargs
            )
        healthy = await self._router.async_get_healthy_deployments(
            model=model, request_kwargs=request_kwargs, messages=messages, input=input
        )
        if isinstance(healthy, dict):
            return healthy
        return await asyncio.to_thread(self._choose, group, healthy, request_kwargs)

    def _by_litellm(self, method: str, model: Any, messages: Any, input: Any, specific: Any, request: Any) -> Any:
        """Return what the router decides by its own strategy."""
        own = getattr(type(self._router), method)
        return own(
            self._router,
            model=model,
            messages=messages,
            input=input,
            specific_deployment=specific,
            request_kwargs=request,
        )

    def _group(self, model: str) -> str | None:
        """Return the group with a study that a request names, by itself or by an alias."""
        found = self._router.get_model_from_alias(model=model) or model
        return found if found in self._studies else None

    def _healthy(self, group: str, request: dict[str, Any]) -> list[Any]:
        """Return the deployments of a group that take requests now, as LiteLLM filters them without asyncio."""
        cooling = set(get_cooldown_deployments(self._router, None))
        found = [one for one in self._router.get_model_list(model_name=group) if one["model_info"]["id"] not in cooling]
        found = [one for one in found if not one["model_info"].get("blocked")]
        found = get_order_filtered_deployments(found, target_order=request.pop("_target_order", None))
        found = get_excluded_filtered_deployments(found, request.pop("_excluded_deployment_ids", None))
        return get_excluded_filtered_deployments(found, request.pop("_retry_skipped_deployment_ids", None)) or found

    def _choose(self, group: str, healthy: list[Any], request: dict[str, Any]) -> Any:
        """Return the deployment of a decision, and note the decision in the request's metadata."""
        study, arms = self._studies[group], self._arms(healthy)
        everything = self._arms(self._router.get_model_list(model_name=group))
        decision = study.ask() if set(arms) == set(everything) else study.ask(available=list(dict.fromkeys(arms)))
        own = [one for one, arm in zip(healthy, arms, strict=True) if arm == decision.arm]
        if not own:
            study.forget(decision)
            mend = "give arm= the label of each deployment"
            raise ArgumentError(wanted("studies", f"a decision for one of {arms}", decision.arm, mend))
        token = uuid.uuid4().hex
        with self._lock:
            turn = self._turns[group, decision.arm] = self._turns.get((group, decision.arm), -1) + 1
            self._open[token] = study, decision
            if len(self._open) > OPEN:
                self._open.popitem(last=False)
        field = "litellm_metadata" if "litellm_metadata" in request else "metadata"
        request[field] = {**(request.get(field) or {}), TOKEN: token}
        return own[turn % len(own)]

    def _arms(self, deployments: Iterable[Any]) -> list[Any]:
        return [self._arm(one) for one in deployments]

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Tell the reward of an answer; LiteLLM calls this."""
        self._tell(True, kwargs, response_obj, (end_time - start_time).total_seconds())

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Tell the reward of a failure; LiteLLM calls this."""
        self._tell(False, kwargs, response_obj, (end_time - start_time).total_seconds())

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Tell the reward of an answer on asyncio; LiteLLM calls this."""
        await asyncio.to_thread(self.log_success_event, kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Tell the reward of a failure on asyncio; LiteLLM calls this."""
        await asyncio.to_thread(self.log_failure_event, kwargs, response_obj, start_time, end_time)

    def _tell(self, ok: bool, call: Mapping[str, Any], response: Any, seconds: float) -> None:
        """Tell the reward of a request, the first time that LiteLLM reports its outcome."""
        sent = call.get("litellm_params") or {}
        metadata = {**(sent.get("litellm_metadata") or {}), **(sent.get("metadata") or {})}
        with self._lock:
            study, decision = self._open.pop(metadata.get(TOKEN, ""), (None, None))
        if study is None:
            return
        cost, exception = call.get("response_cost"), call.get("exception")
        try:
            reward = self._reward(Outcome(decision, decision.arm, ok, seconds, cost, response, exception))
            if reward is not None:
                study.tell(decision, reward)
        except EvenhandError as error:
            LOG.warning("the outcome of a request was not told: %s", error)
