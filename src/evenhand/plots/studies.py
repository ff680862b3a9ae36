"""Pictures of a study's course: the decisions round by round and the promise; nothing is computed here but
shares."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.plots.axes import axes_of, mark_limit, name_ends
from evenhand.plots.style import DASHED, finish, looks, mark_changes, plain, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 6
"""Lines that can be told apart without colour; of more arms those are named that are promised something, and half as
many more."""
MOST = 60
"""Lines for whose names there is room; the others are grey."""
LABEL = 20
"""Signs of a label that are shown."""


def plot_course(
    rounds: ArrayLike,
    shares: ArrayLike,
    labels: Sequence[Any],
    promised: ArrayLike | None = None,
    caps: ArrayLike | None = None,
    *,
    changes: Sequence[int] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw each arm's share of the decisions over time, what it was promised, and what it may have at most.

    Parameters
    ----------
    rounds : the moments (n,), in decisions.
    shares : the share of each arm at each moment (n, n_arms), nan where it has none.
    labels : the arms (n_arms,).
    promised : the shares that are promised (n_arms,) or (n, n_arms), dashed in black where there are any.
    caps : the largest share that each arm may have, likewise, nan for none; dash-dotted in black.
    changes : the first rounds of other promises, dotted.

    Shares in the first tenth of the moments, when they still jump, may exceed the top of the picture.
    """
    axes = axes_of(ax)
    times, held = np.asarray(rounds, dtype=float), np.asarray(shares, dtype=float)
    owed, most = (
        np.broadcast_to(np.nan if given is None else np.asarray(given, dtype=float), held.shape)
        for given in (promised, caps)
    )
    owed = np.where(owed > 0.0, owed, np.nan)
    with style():
        at = _last(held)
        ends, promised_last, most_last = (values[at] for values in (held, owed, most))
        said = ~np.isnan(owed).all(axis=0) | ~np.isnan(most).all(axis=0)
        apart = np.where(said, np.nan_to_num(ends), ends) - np.nan_to_num(promised_last)
        drawn = _lines(axes, times, held, np.abs(apart) + 2.0 * said, int(said.sum()) + SHOWN // 2)
        for limits, dashes in ((owed, DASHED), (most, {**DASHED, "linestyle": "-."})):
            for line in np.unique(np.nan_to_num(limits[:, list(drawn)], nan=-1.0), axis=1).T:
                if (line >= 0.0).any():
                    axes.plot(times, np.where(line >= 0.0, line, np.nan), **dashes, zorder=1)
        mark_changes(axes, changes)
        settled = np.nanmax(np.concatenate([held[len(times) // 10 :], owed, most]), initial=0.0)
        axes.set_ylim(0.0, min(1.15 * settled, 1.02) or 1.0)
        texts = {}
        for arm in drawn:
            promise = f", promised {promised_last[arm]:.3g}" if promised_last[arm] == promised_last[arm] else ""
            promise += f", at most {most_last[arm]:.3g}" if most_last[arm] == most_last[arm] else ""
            has = ("has " if held[-1, arm] == held[-1, arm] else "had ") if promise else ""
            share = f"{has}{ends[arm]:.3g}" if ends[arm] == ends[arm] else "has no share yet"
            texts[arm] = f"{plain(labels[arm], LABEL)} {share}{promise}"
        left = times[0] if times[0] > times[-1] / 20 else min(float(len(labels)), times[-1] / 20)
        axes.set_xlim(left=left)  # before, shares jump from arm to arm
        name_ends(axes, texts, np.nan_to_num(ends), drawn)
        levels = {"dashed: promised": said.any() and not np.isnan(owed).all()}
        levels |= {"dash-dotted: at most": not np.isnan(most).all(), "dotted: a change": bool(len(changes))}
        named = "; ".join(words for words, drawn_so in levels.items() if drawn_so)
        title = "Share of the decisions by arm" + (f" ({named})" if named else "")
        which = "those with a promise, then the largest shares" if said.sum() <= MOST else "furthest from their promise"
        title += _named(drawn, labels, which if said.any() else "the largest shares")
        since = "since each promise began" if len(changes) else "so far"
        return finish(axes, title, "decision", f"share of the decisions {since}", legend=False)


def plot_owed(
    rounds: ArrayLike,
    owed: ArrayLike,
    labels: Sequence[Any],
    limit: float | None,
    *,
    changes: Sequence[int] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw by how many decisions arms were behind their shares over time; arms far ahead are cut off.

    Parameters
    ----------
    rounds : the ends of stretches of time (n,), in decisions.
    owed : the largest r_i t - N_i(t) of each arm in each stretch (n, n_arms), nan where it is promised nothing.
    labels : the arms (n_arms,).
    limit : from here on the promise is broken; None where it is not kept at every round.
    changes : the first rounds of other promises, dotted.
    """
    axes = axes_of(ax)
    behind = np.asarray(owed, dtype=float)
    with style():
        ends = behind[_last(behind)]
        drawn = _lines(axes, np.asarray(rounds, dtype=float), behind, ends, behind.shape[1])
        room = max(limit or 1.0, float(np.nanmax(behind)))
        axes.set_ylim(-2.0 * room, 1.3 * room)
        mark_changes(axes, changes)
        if limit is not None:
            mark_limit(axes, limit)
        over = {arm: " at its end" * bool(np.isnan(behind[-1, arm])) for arm in drawn}
        texts = {arm: f"{plain(labels[arm], LABEL)} {ends[arm]:+.3g}{over[arm]}" for arm in drawn}
        name_ends(axes, texts, ends, drawn)
        return finish(
            axes,
            "How far arms are behind their shares" + _named(drawn, labels, "furthest behind in the last stretch"),
            "decision (the last of each stretch)",
            "decisions behind the share (largest in each stretch)",
            legend=False,
        )


def _lines(axes: Axes, times: Any, values: Any, weight: Any, least: int) -> dict[int, dict[str, Any]]:
    """Draw one line per arm; return the arms that have a look of their own, with it: those of most weight, at least so
    many as far as there is room."""
    there = np.flatnonzero(~np.isnan(weight))
    first = sorted(there[np.argsort(-weight[there], kind="stable")[: min(max(SHOWN, least), MOST)]].tolist())
    for arm in set(there.tolist()) - set(first):
        axes.plot(times, values[:, arm], color="#bbbbbb", linewidth=0.7, zorder=1)
    every = max(1, len(times) // 8)
    drawn = dict(zip(first, looks([str(arm) for arm in first]).values(), strict=True))
    for place, (arm, look) in enumerate(drawn.items()):
        axes.plot(times, values[:, arm], markevery=(place * every // len(drawn), every), **look)
    return drawn


def _last(values: Any) -> tuple[Any, Any]:
    """Return where the last value of each column stands; in the last row of one without any."""
    rows = np.where(np.isnan(values).all(axis=0), -1, len(values) - 1 - np.argmax(~np.isnan(values[::-1]), axis=0))
    return rows, np.arange(values.shape[1])


def _named(drawn: Sized, labels: Sequence[Any], which: str) -> str:
    """Say which arms are named, and how many others there are."""
    others = len(labels) - len(drawn)
    return f"\nnamed: {which}; and {others} other{'s' * (others > 1)}, in grey" if others else ""
