"""Policies from the words of a command line: short names become a description, and a description a policy."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand import registry
from evenhand.cli.inputs.inputs import settings_of
from evenhand.errors import ArgumentError, RegistryError, Wording, expected, expected_one_of, nearest
from evenhand.policy.traits import traits_of
from evenhand.promises.promise import Promise
from evenhand.protocol import Label

FOR_GROUPS = ("group-fair-top-interval", "top-interval")
"""The policies to compare in a world with groups if none is named."""
LIMITED = ("deadline-learn+ucb1", "deadline-learn+thompson", "ucb1", "thompson")
"""The policies to compare where caps or windows are promised and none is named."""
TWO_GROUPS = "two-group-top-interval"
"""The form of GroupFairTopInterval that lifts the sensitive one of two groups, which is had by this name alone."""


def describe(policy: str, learner: str = "", option: str = "--policy") -> dict[str, Any]:
    """Return the description of a policy by a registered name, its last part, or RULE+LEARNER: fair-learn+thompson;
    `option` is what named the learner where it stands apart.

    Raises
    ------
    RegistryError
        If a name is unknown, or may mean several policies.
    ArgumentError
        If a learner is named for a policy that takes none.
    """
    rule, _, inner = policy.partition("+")
    described: dict[str, Any] = {"policy": find_policy(rule).name}
    if "learner" in parameters_of(described):
        found = find_policy(learner or inner or "ucb1", option, learner=True)
        described["learner"] = {"policy": found.name}
    elif learner or inner:
        raise ArgumentError(expected("--policy", f"only {rule!r}, which takes no learner", learner or policy))
    return described


def put(described: dict[str, Any], option: str, value: Any) -> None:
    """Give an option to the policy, or to its learner if that alone takes it."""
    learner = described.get("learner")
    if isinstance(learner, dict) and option in parameters_of(learner) and option not in parameters_of(described):
        learner[option] = value
    else:
        described[option] = value


def parameters_of(described: dict[str, Any]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of the described policy's constructor; none where no policy is named."""
    name = described.get("policy")
    return inspect.signature(registry.get(name, "policy").cls).parameters if isinstance(name, str) else {}


def policies_of(
    specs: Sequence[str],
    world: Any,
    shares: dict[Label, Any] | None,
    tolerance: float,
    horizon: int,
    limits: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """Return the policies named by `--policy`, for this world; some that fit it where none is named. `limits` are the
    caps and windows that are promised beside the shares, by the names of the arguments."""
    from evenhand.descriptions.policies import build

    found: dict[str, Any] = {}
    shares = dict.fromkeys(world.arms, 0) if limits and shares is None else shares
    for spec in specs or (LIMITED if limits else _default(world, shares, tolerance)):
        name, settings = settings_of(spec, "--policy")
        described = describe(name)
        takes = parameters_of(described)
        if "shares" in takes and "shares" not in settings:
            if shares is None:
                needed = "--shares, such as 0.02 or a=0.2,b=0.3 or shares.csv"
                raise ArgumentError(f"--policy {spec.partition('+')[0]}: needs {needed}")
            check_limits(limits, described)
            described |= {"shares": shares, **limits}
        elif "arms" in takes:
            described["arms"] = list(world.arms)
        if "tolerance" in takes:
            described["tolerance"] = tolerance
        fit(described, name, world, horizon)
        known = [*takes, *parameters_of(described.get("learner", {}))]
        for setting, value in settings.items():
            if setting not in known:
                raise ArgumentError(expected_one_of(f"--policy {name}", known, setting, what="one of its settings"))
            put(described, setting, value)
        found[spec] = build(described)
    return found


def fit(described: dict[str, Any], spec: str, world: Any, horizon: int) -> None:
    """Fill in what a described policy, which `spec` named, and its learner must know of this world."""
    from evenhand.simulation.world import world_traits

    for part in (described, described.get("learner", {})):
        takes = parameters_of(part)
        if "horizon" in takes and takes["horizon"].default is inspect.Parameter.empty:
            part["horizon"] = horizon
        if "groups" in takes:
            if traits_of(world).groups is None:
                raise ArgumentError(
                    expected("--policy", "one for arms without groups, or simulate --group COLUMN", spec)
                )
            part |= group_settings(takes, world, horizon)
            if TWO_GROUPS in spec.split("+") and "sensitive" in takes:
                part["sensitive"] = lifted(TWO_GROUPS, world_traits(world).sensitive)


def check_limits(limits: Mapping[str, Any], described: dict[str, Any]) -> None:
    """Refuse caps and windows that a described policy does not keep."""
    for name in limits:
        if name not in parameters_of(described):
            hint = "a --policy that keeps caps and windows, such as deadline-learn"
            raise ArgumentError(expected(f"--{name[:-1]}", hint, described.get("policy")))


def check_kept(shares: str, policies: Mapping[str, Any]) -> None:
    """Refuse shares that none of the policies, by their names, keeps: they would say nothing."""
    if shares and all(traits_of(policy).promise is None for policy in policies.values()):
        what, got = "a --policy that keeps shares, such as fair-ucb", Wording(" and ".join(policies))
        hint = "deadline-learn+LEARNER keeps them with a learner such as thompson; name both to compare them"
        raise ArgumentError(expected("--shares", what, got, hint))


def group_settings(takes: Mapping[str, Any], world: Any, horizon: int) -> dict[str, Any]:
    """Return the settings for a world with groups, of those that a policy takes."""
    offered: dict[str, Any] = {"groups": world.groups, "horizon": horizon, "cold_start": "minimum_norm"}
    if traits_of(world).bias is not None:
        offered |= {"intercept": True, "noise_scale": float(world.rewards.std()) or 1.0}
    return {name: value for name, value in offered.items() if name in takes}


def lifted(policy: str, sensitive: Any) -> Any:
    """Return the group that a policy is to lift, which takes its explicit name; None for other policies.

    Raises
    ------
    ArgumentError
        If a group is given to another policy, or none to this one.
    """
    two = TWO_GROUPS in policy.split("+")
    if two == (sensitive is None):
        if two:
            raise ArgumentError(f"--policy {TWO_GROUPS}: needs --sensitive GROUP, the group that it favours")
        hint = "leave --sensitive out to correct the bias of every group"
        raise ArgumentError(expected("--policy", f"{TWO_GROUPS} together with --sensitive", policy, hint))
    return sensitive


def _default(world: Any, shares: dict[Label, Any] | None, tolerance: float) -> Sequence[str]:
    """Return the policies to compare where none is named."""
    if traits_of(world).groups is not None:
        return FOR_GROUPS if shares is None else (*FOR_GROUPS, "deadline-learn+group-fair-top-interval")
    if shares is None:
        return "ucb1", "thompson"
    promise = Promise(shares, tolerance)
    equal = max(promise.shares) * len(promise.arms) <= 1
    return "fair-ucb" if equal else "deadline-learn+ucb1", "deadline-learn+thompson", "ucb1", "thompson"


def find_policy(name: str, option: str = "--policy", *, learner: bool = False) -> registry.RegistryEntry:
    """Return the policy of that name, or of that last part: fair-ucb is quotas/fair-ucb. Baselines, which nobody is
    offered, give way to others.

    Raises
    ------
    RegistryError
        If there is none, or several have that last part.
    """
    known, name = registry.entries("policy"), "groups/group-fair-top-interval" if name == TWO_GROUPS else name
    matches = [e for e in known if e.name == name] or [e for e in known if e.name.endswith("/" + name)]
    matches = [e for e in matches if not e.baseline] or matches
    if len(matches) > 1 and learner:
        matches = [e for e in matches if e.name.startswith("learners/")] or matches
    if len(matches) > 1:
        raise RegistryError(f"{option}: {name!r} may be {' or '.join(e.name for e in matches)}; say which")
    if not matches:
        ends = {e.name.split("/")[-1]: e.name for e in known if not e.baseline}
        near = [ends[end] for end in nearest(name.split("/")[-1], ends, most=3)]
        names = f"near it: {', '.join(near)}" if near else f"the policies are: {', '.join(ends.values())}"
        raise RegistryError(f"{option}: no policy is named {name!r}; {names}")
    return matches[0]
