"""Pictures of a study's course: the decisions round by round and the promise; nothing is computed here but
shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.plots.axes import axes_of, mark_limit, name_ends
from evenhand.plots.style import DASHED, finish, looks, plain, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 6
"""Lines that can be told apart without colour; of more arms the rest is grey."""
LABEL = 20
"""Signs of a label that are shown."""


def plot_course(
    rounds: ArrayLike,
    counts: ArrayLike,
    labels: Sequence[Any],
    promised: ArrayLike | None = None,
    caps: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Draw each arm's share of the decisions over time, what it was promised, and what it may have at most.

    Parameters
    ----------
    rounds : the moments (n,), in decisions.
    counts : decisions for each arm at each moment (n, n_arms).
    labels : the arms (n_arms,).
    promised : the shares that are promised (n_arms,), dashed in black where there are any.
    caps : the largest share that each arm may have (n_arms,), nan for none; dash-dotted in black.

    Shares in the first tenth of the moments, when they still jump, may exceed the top of the picture.
    """
    axes = axes_of(ax)
    times = np.asarray(rounds, dtype=float)
    shares = np.asarray(counts, dtype=float) / np.maximum(times, 1.0)[:, None]
    owed = np.zeros(len(labels)) if promised is None else np.asarray(promised, dtype=float)
    most = np.full(len(labels), np.nan) if caps is None else np.asarray(caps, dtype=float)
    with style():
        said = (owed > 0.0) | ~np.isnan(most)
        drawn = _lines(axes, times, shares, np.abs(shares[-1] - owed) + 2.0 * said)  # those of the promise come first
        for share in {float(owed[arm]) for arm in drawn} - {0.0}:
            axes.axhline(share, **DASHED, zorder=1)
        for cap in {float(most[arm]) for arm in drawn if most[arm] == most[arm]}:
            axes.axhline(cap, **{**DASHED, "linestyle": "-."}, zorder=1)
        settled = max(shares[len(times) // 10 :].max(), owed.max(), np.nanmax(most, initial=0.0))
        axes.set_ylim(0.0, min(1.15 * settled, 1.02) or 1.0)
        texts = {}
        for arm in drawn:
            promise = f", promised {owed[arm]:.3g}" if owed[arm] else ""
            promise += f", at most {most[arm]:.3g}" if most[arm] == most[arm] else ""
            texts[arm] = f"{plain(labels[arm], LABEL)} {'has ' if promise else ''}{shares[-1, arm]:.3g}{promise}"
        axes.set_xlim(left=min(float(len(labels)), times[-1] / 20))  # before, shares jump from arm to arm
        name_ends(axes, texts, shares[-1], drawn)
        levels = {"dashed: promised": owed.any(), "dash-dotted: at most": not np.isnan(most).all()}
        named = "; ".join(words for words, drawn_so in levels.items() if drawn_so)
        title = "Share of the decisions by arm" + (f" ({named})" if named else "")
        title += _named(labels, "furthest from their promise" if owed.any() else "with the largest shares")
        return finish(axes, title, "decision", "share of the decisions so far", legend=False)


def plot_owed(
    rounds: ArrayLike, owed: ArrayLike, labels: Sequence[Any], limit: float | None, *, ax: Axes | None = None
) -> Axes:
    """Draw by how many decisions arms were behind their shares over time; arms far ahead are cut off.

    Parameters
    ----------
    rounds : the ends of stretches of time (n,), in decisions.
    owed : the largest r_i t - N_i(t) of each arm in each stretch (n, n_arms).
    labels : the arms (n_arms,).
    limit : from here on the promise is broken; None where it is not kept at every round.
    """
    axes = axes_of(ax)
    behind = np.asarray(owed, dtype=float)
    with style():
        drawn = _lines(axes, np.asarray(rounds, dtype=float), behind, behind[-1])
        room = max(limit or 1.0, float(behind.max()))
        axes.set_ylim(-2.0 * room, 1.3 * room)
        if limit is not None:
            mark_limit(axes, limit)
        texts = {arm: f"{plain(labels[arm], LABEL)} {behind[-1, arm]:+.3g}" for arm in drawn}
        name_ends(axes, texts, behind[-1], drawn)
        return finish(
            axes,
            "How far arms are behind their shares" + _named(labels, "furthest behind in the last stretch"),
            "decision (the last of each stretch)",
            "decisions behind the share (largest in each stretch)",
            legend=False,
        )


def _lines(axes: Axes, times: Any, values: Any, weight: Any) -> dict[int, dict[str, Any]]:
    """Draw one line per arm; return the arms that have a look of their own, with it."""
    first = sorted(np.argsort(-weight, kind="stable")[:SHOWN].tolist())
    for arm in set(range(values.shape[1])) - set(first):
        axes.plot(times, values[:, arm], color="#bbbbbb", linewidth=0.7, zorder=1)
    every = max(1, len(times) // 8)
    drawn = dict(zip(first, looks([str(arm) for arm in first]).values(), strict=True))
    for place, (arm, look) in enumerate(drawn.items()):
        axes.plot(times, values[:, arm], markevery=(place * every // len(drawn), every), **look)
    return drawn


def _named(labels: Sequence[Any], which: str) -> str:
    """Say which arms are named, where not all are."""
    return "" if len(labels) <= SHOWN else f"\nnamed: the {SHOWN} of {len(labels)} {which}"
