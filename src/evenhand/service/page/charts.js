// Which lines the charts of a study show, and over which range.

import { number, numberTick, percent, percentTick } from "./format.js";
import { look } from "./marks.js";
import { atCaps, capsOf, windowsOf } from "./promised.js";
import { cut } from "./zoom.js";

const FEW = 6;
const ROOM = 24;
const STRETCHES = 60;

/**
 * The indices of the arms to draw, in their order: those that are promised something, as far as there is room the one
 * nearest to its cap and those furthest behind, and then those with the most decisions.
 */
export function firstDrawn({ labels }, { arms, promise }) {
  const every = labels.map((_, i) => i);
  const largest = (of) => [...every].sort((a, b) => of(b) - of(a));
  const [capOf, windowOf] = [capsOf(promise), windowsOf(promise)];
  const isBound = (arm) => arm?.promised > 0 || (arm && (capOf(arm.label) ?? windowOf(arm)) !== null);
  const bound = largest((i) => arms[i]?.owed ?? -Infinity).filter((i) => isBound(arms[i]));
  const capped = atCaps({ arms, promise }).slice(0, 1);
  const chosen = [...capped.map((arm) => arms.indexOf(arm)), ...bound, ...largest((i) => arms[i]?.decisions ?? 0)];
  const most = Math.max(FEW, Math.min(bound.length + FEW / 2, ROOM));
  return [...new Set(chosen)].slice(0, most).sort((a, b) => a - b);
}

/**
 * The specs of the charts, by the id of their place.
 *
 * view: {series, state, close, lookOf, ui: {chosen, axis, zoom}}; `close` has the rounds of the zoom once they were read,
 * and `lookOf(label, k)` says which look the line has that is drawn k-th.
 */
export function chartsOf({ series, state, close, lookOf = (_, k) => k, ui: { chosen, axis, zoom } }) {
  const seen = cut(close?.series && close.zoom === zoom ? close.series : series, zoom);
  const { promised } = series;
  const capOf = capsOf(state.promise);
  const frame = ({ round, from, at }) => ({
    round,
    from,
    at: at ? risen(at) : null,
    axis: at ? axis : "rounds",
    domain: zoom ? [zoom.first, zoom.last] : [round[0], round.at(-1)],
  });
  const lines = (values) =>
    chosen.map((i, k) => ({
      label: series.labels[i],
      look: look(lookOf(series.labels[i], k)),
      values: values[i] ?? [],
    }));
  const shares = lines(seen.shares).map((line, k) => ({
    ...line,
    least: promised?.[chosen[k]] || null,
    most: capOf(line.label),
  }));
  const specs = {
    "chart-shares": {
      title: "Shares over the rounds",
      ...frame(seen),
      lines: shares,
      range: zoom ? around(...shares.map(({ values }) => values)) : shareRange(shares),
      text: percent,
      tick: percentTick,
    },
    "chart-reward": {
      title: "Mean reward over the rounds",
      ...frame(seen),
      text: number,
      tick: numberTick,
      range: around(...[seen.reward_mean, seen.reward_recent].map(zoom ? (row) => row : settled)),
      lines: [
        { label: "so far", look: { ...look(0), width: 2.5 }, values: seen.reward_mean },
        { label: "recent", look: { ...look(1), dash: [], width: 1 }, values: seen.reward_recent },
      ],
    },
  };
  if (series.shortfall && promised) {
    const slack = state.promise?.broken_from ?? 1;
    const due = state.promise?.when === "at every round" && state.promise.broken_from != null;
    const limit = due ? { value: slack, text: "broken from here" } : null;
    const stretches = worstOfStretches(seen);
    const isOwed = ({ values }, k) => promised[chosen[k]] > 0 || values.some((value) => value > 0);
    const behind = lines(stretches.shortfall).filter(isOwed);
    specs["chart-shortfall"] = {
      title: "Decisions behind the promise",
      ...frame(stretches),
      lines: behind,
      limit,
      text: number,
      tick: numberTick,
      range: behindRange(behind, slack),
    };
  }
  return specs;
}

/** Times in seconds since 1970 that never fall, as the clocks of several machines may. */
function risen(times) {
  let latest = -Infinity;
  return times.map((time) => {
    latest = Math.max(latest, Date.parse(time) / 1000);
    return latest;
  });
}

/** At most STRETCHES points: the largest value of each stretch of checkpoints, from its first round to its last. */
function worstOfStretches({ round, at, shortfall }) {
  const size = Math.ceil(round.length / STRETCHES);
  if (size <= 1) return { round, at, shortfall };
  const ends = round.map((_, i) => i).filter((i) => (round.length - 1 - i) % size === 0);
  const worst = (row, end) => Math.max(...row.slice(Math.max(0, end - size + 1), end + 1));
  const last = (row) => ends.map((end) => row[end]);
  return {
    round: last(round),
    from: ends.map((end) => round[Math.max(0, end - size + 1)]),
    at: at && last(at),
    shortfall: shortfall.map((row) => ends.map((end) => worst(row, end))),
  };
}

/** What happened after the first tenth of the rounds, when shares and means still jump. */
const settled = (row) => row.slice(Math.floor(row.length / 10));

/** From zero to a little above what happened once things had settled. */
function shareRange(lines) {
  const values = lines.flatMap(({ values, least, most }) => [...settled(values), least ?? 0, most ?? 0]);
  const high = 1.15 * Math.max(0.001, ...values.filter((value) => value !== null));
  return [0, high > 0.8 ? 1.02 : high];
}

/** The limit in sight, and below zero as much as is needed, or twice the limit. */
function behindRange(lines, slack) {
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  const high = Math.max(slack, ...values);
  return [Math.max(Math.min(0, ...values), -2 * high) - 0.1 * high, 1.2 * high];
}

/** Around all values, with some room. */
function around(...rows) {
  const values = rows.flat().filter((value) => value !== null && value !== undefined);
  if (values.length === 0) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.12 * (high - low) || Math.max(0.1, Math.abs(high) * 0.1);
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}
