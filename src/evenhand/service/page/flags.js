// Alerts on the charts: where each was raised, and what it says.

import { el } from "./dom.js";
import { count, exactly, title, when } from "./format.js";
import { watched } from "./labels.js";

const PLACES = { shortfall: "chart-shortfall", reward: "chart-reward", "group-gap": "chart-reward" };
const GAP = 6;

/** The alerts of a study by the id of the chart that shows them: {round, at, short, words, pale}. */
export function flagsOf(series, state, ids) {
  if (!series.at) return {};
  const times = series.at.map((one) => Date.parse(one));
  const of = new Map(state.monitors.map((monitor) => [monitor.id, monitor]));
  const flags = state.alerts.map((alert) => {
    const at = Date.parse(alert.since);
    const place = times.findLastIndex((time) => time <= at);
    return {
      chart: ids.includes(PLACES[alert.metric]) ? PLACES[alert.metric] : "chart-shares",
      round: series.round[Math.max(0, place)],
      at: at / 1000,
      short: alert.metric,
      words: `${title(watched({ ...of.get(alert.monitor), ...alert }))}, raised ${when(new Date(at))}${ending(alert)}`,
      pale: Boolean(alert.cleared || alert.acknowledged),
    };
  });
  return Object.groupBy(flags, ({ chart }) => chart);
}

const ending = ({ cleared, acknowledged }) => (cleared ? ", cleared" : acknowledged ? ", acknowledged" : "");

/** Draw the flags: a line from top to bottom, a mark, and a name where there is room and no limit has its own. */
export function drawFlags(plot, { flags, axis, limit }, { alarm, quiet, font }) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${11 * scale}px ${font}`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  const row = limit ? bbox.top + bbox.height - 16 * scale : bbox.top + 2 * scale;
  let free = bbox.left;
  const placed = flags.map((flag) => [plot.valToPos(axis === "time" ? flag.at : flag.round, "x", true), flag]);
  for (const [x, { short, pale }] of placed.sort(([a], [b]) => a - b)) {
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = ctx.fillStyle = pale ? quiet : alarm;
    ctx.globalAlpha = pale ? 0.6 : 1;
    ctx.lineWidth = (pale ? 1 : 1.5) * scale;
    ctx.setLineDash([2 * scale, 2 * scale]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.globalAlpha = 1;
    const text = `${pale ? "△" : "▲"} ${short}`;
    const width = ctx.measureText(text).width;
    const left = Math.min(x + 3 * scale, bbox.left + bbox.width - width);
    if (left < free) continue;
    ctx.fillText(text, left, row);
    free = left + width + GAP * scale;
  }
  ctx.restore();
}

/** The alerts at a point of the chart, as one sentence; empty where there are none. */
export const said = (flags, round, next) =>
  flags
    .filter((flag) => flag.round >= round && (next === undefined || flag.round < next))
    .map(({ words }) => words)
    .join("; ");

/** The alerts of a chart as a list. */
export function flagList(flags) {
  if (flags.length === 0) return null;
  return el(
    "ul",
    { class: "flags" },
    flags.map(({ round, at, words, pale }) =>
      el(
        "li",
        { class: pale ? "pale" : null, title: exactly(new Date(1000 * at)) },
        el("span", { "aria-hidden": "true" }, pale ? "△ " : "▲ "),
        `${words}, at about round ${count(round)}`,
      ),
    ),
  );
}
