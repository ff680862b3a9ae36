"""`evenhand check NAME`: run the contract over a registered policy or world."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from evenhand import registry
from evenhand.cli.options import JSON
from evenhand.cli.output import as_json, table
from evenhand.errors import ContractError

if TYPE_CHECKING:
    from evenhand.checks import Check


def check(name: str, *, json: JSON = False) -> None:
    """Run the contract over a registered policy or world; exit code 1 if one breaks it.

    Parameters
    ----------
    name : A registered name, or the beginning of several, such as quotas/.
    """
    from evenhand.checks import check_registered

    named = [e.name for e in registry.entries(prefix=name)] if name.endswith("/") else [registry.get(name).name]
    rows: list[tuple[str, str, str]] = []
    failed = False
    for one in named or [registry.get(name).name]:
        try:
            for example, checks in check_registered(one).items():
                rows += [(example, c.name, _outcome(c)) for c in checks]
        except ContractError as error:
            failed = True
            rows.append((one, "contract", f"FAILED: {error}"))
    if json:
        as_json([{"example": example, "check": what, "outcome": outcome} for example, what, outcome in rows])
    else:
        table("Contract", ("example", "check", "outcome"), rows)
    if failed:
        raise typer.Exit(1)


def _outcome(check: Check) -> str:
    if check.skipped:
        return f"skipped: {check.skipped}"
    return f"passed; not tried: {', '.join(check.untried)}" if check.untried else "passed"
