"""The form of every command: an empty value is refused, where it would stand for none."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

from evenhand.errors import ArgumentError, wanted

__all__ = ["Command"]


class Command(TyperCommand):
    """A command that refuses empty values, such as --shares "$SHARES" where the variable is not set."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line.

        Raises
        ------
        ArgumentError
            If one of them is empty; the option before it is named.
        """
        for place, word in enumerate(args):
            option = args[place - 1] if place and args[place - 1].startswith("-") else f"argument {place + 1}"
            if word == "" or re.fullmatch(r"--[\w-]+=", word):
                mend = "leave it out if you mean none"
                raise ArgumentError(wanted(word.removesuffix("=") or option, "a value", "", mend))
        return super().parse_args(ctx, args)
