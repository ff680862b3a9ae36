// Which lines the charts of a study show, and over which range.

import { number, numberTick, percent, percentTick } from "./format.js";
import { look } from "./marks.js";

const MOST = 6;
const STRETCHES = 60;

/** The indices of the arms to draw: all if they are few, otherwise those furthest behind, in the order of the arms. */
export function furthestBehind({ labels }, { arms }) {
  const every = labels.map((_, i) => i);
  if (every.length <= MOST) return every;
  const rank = (i) => arms[i]?.owed ?? arms[i]?.decisions ?? 0;
  return every
    .sort((a, b) => rank(b) - rank(a))
    .slice(0, MOST)
    .sort((a, b) => a - b);
}

/** The specs of the charts, by the id of their place. */
export function chartsOf(series, state, chosen) {
  const { round, labels, promised } = series;
  const lines = (values, reference = () => null) =>
    chosen.map((i, k) => ({
      label: labels[i],
      look: look(k),
      values: values[i],
      reference: reference(i),
    }));
  const shares = lines(series.shares, (i) => promised?.[i]);
  const specs = {
    "chart-shares": {
      title: "Shares over the rounds",
      round,
      lines: shares,
      range: shareRange(shares),
      text: percent,
      tick: percentTick,
    },
    "chart-reward": {
      title: "Mean reward over the rounds",
      round,
      text: number,
      tick: numberTick,
      range: around(series.reward_mean, series.reward_recent),
      lines: [
        { label: "so far", look: { ...look(0), width: 2.5 }, values: series.reward_mean },
        { label: "recent", look: { ...look(1), dash: [], width: 1 }, values: series.reward_recent },
      ],
    },
  };
  if (series.shortfall && promised) {
    const slack = Math.floor(state.promise?.tolerance ?? 0) + 1;
    const limit = state.promise?.when === "at every round" ? { value: slack, text: "broken from here" } : null;
    const stretches = worstOfStretches(round, series.shortfall);
    const behind = lines(stretches.values);
    specs["chart-shortfall"] = {
      title: "Decisions behind the promise",
      round: stretches.round,
      lines: behind,
      limit,
      text: number,
      tick: numberTick,
      range: behindRange(behind, slack),
    };
  }
  return specs;
}

/** At most STRETCHES points: the largest value of each stretch of checkpoints, at its last round. */
function worstOfStretches(round, rows) {
  const size = Math.ceil(round.length / STRETCHES);
  const ends = round.map((_, i) => i).filter((i) => (round.length - 1 - i) % size === 0);
  const worst = (row, end) => Math.max(...row.slice(Math.max(0, end - size + 1), end + 1));
  return { round: ends.map((end) => round[end]), values: rows.map((row) => ends.map((end) => worst(row, end))) };
}

/** From zero to a little above what happened after the first tenth of the rounds, when shares still jump. */
function shareRange(lines) {
  const settled = lines.flatMap(({ values, reference }) => [
    ...values.slice(Math.floor(values.length / 10)),
    reference ?? 0,
  ]);
  const high = 1.15 * Math.max(0.001, ...settled.filter((value) => value !== null));
  return [0, high > 0.8 ? 1.02 : high];
}

/** The limit in sight, and below zero as much as is needed, or twice the limit. */
function behindRange(lines, slack) {
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  const high = Math.max(slack, ...values);
  return [Math.max(Math.min(0, ...values), -2 * high) - 0.1 * high, 1.2 * high];
}

/** Around what happened after the first tenth of the rounds. */
function around(...series) {
  const values = series
    .flatMap((row) => row.slice(Math.floor(row.length / 10)))
    .filter((value) => value !== null && value !== undefined);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = 0.12 * (high - low) || Math.max(0.1, Math.abs(high) * 0.1);
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}
