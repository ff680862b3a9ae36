// Above the charts: rounds or clock time along the axis, closer and wider views, and which rounds are shown.

import { el } from "./dom.js";
import { count, span } from "./format.js";

/**
 * shown: {series, close, ui: {axis, zoom}}; `series` covers all rounds, `close` the rounds of the zoom if they were read.
 * `timed` is whether there is a choice of axes, `told` whether the readout is announced when it changes.
 */
export function toolbar({ series, close, ui: { axis, zoom } }, { timed = true, told = true } = {}) {
  const total = series.round.at(-1);
  const button = (action, name, text, more = {}) =>
    el("button", { type: "button", "data-action": action, "aria-label": name, title: name, ...more }, text);
  return el(
    "div",
    { class: "toolbar", role: "group", "aria-label": "What the charts show" },
    timed && series.at
      ? el(
          "span",
          { class: "switch" },
          ["rounds", "time"].map((name) =>
            button("axis", `${name} along the axis`, name, {
              "data-name": name,
              "aria-pressed": String(axis === name),
            }),
          ),
        )
      : null,
    el(
      "span",
      { class: "switch" },
      button("closer", "Zoom in", "+", { disabled: total < 4 }),
      button("wider", "Zoom out", "−", { disabled: !zoom }),
      button("earlier", "Earlier rounds", "←", { disabled: !zoom || zoom.first <= 1 }),
      button("later", "Later rounds", "→", { disabled: !zoom || zoom.last >= total }),
    ),
    zoom ? el("button", { type: "button", "data-action": "whole" }, "Show all rounds") : null,
    el("p", { class: "readout", role: told ? "status" : null }, readout(series, close, zoom)),
  );
}

function readout(series, close, zoom) {
  if (!zoom)
    return matchMedia("(pointer: coarse)").matches ? "Pinch a chart to zoom in." : "Drag along a chart to zoom in.";
  const { first, last } = zoom;
  const parts = [
    `Rounds ${count(first)} to ${count(last)} of ${count(series.round.at(-1))}`,
    times(close?.series ?? series, zoom),
  ];
  if (close?.refused) parts.push(`more detail could not be read (${close.refused}); drawn from what was loaded`);
  else if (!close?.series) parts.push("reading more detail");
  else parts.push(density(close.series.round));
  return parts.filter(Boolean).join("; ").concat(".");
}

function density(round) {
  const step = round.length < 2 ? 1 : (round.at(-1) - round[0]) / (round.length - 1);
  return step < 1.01 ? "every round is drawn" : `about every ${count(Math.round(step))} rounds a point is drawn`;
}

function times({ round, at }, { first, last }) {
  if (!at) return null;
  const moment = (wanted) =>
    new Date(
      at[
        Math.max(
          0,
          round.findLastIndex((one) => one <= wanted),
        )
      ],
    );
  return span(moment(first), moment(last));
}
