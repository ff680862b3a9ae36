// How a line or a bar looks: each line has its own colour, dash and marker, so that any one of the three is enough.

import { el } from "./dom.js";

const DASHES = [[], [12, 5], [5, 4], [12, 4, 2, 4], [12, 3, 2, 3, 2, 3], [22, 4]];
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "plus"];

/** The look of the i-th line, {tone, dash, shape}: no two of the first 216 are the same. */
export function look(i) {
  const size = DASHES.length;
  const [turn, again] = [Math.floor(i / size), Math.floor(i / size ** 2)];
  return { tone: i % size, dash: DASHES[(i + turn) % size], shape: SHAPES[(i + 2 * turn + again) % size] };
}

/** A marker of about 2 r across at (x, y), as the data of an SVG path; canvas reads it as well. */
export function marker(shape, x, y, r) {
  const d = r * 1.2;
  switch (shape) {
    case "square":
      return `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`;
    case "triangle":
      return `M${x} ${y - d}L${x + d} ${y + r}H${x - d}Z`;
    case "diamond":
      return `M${x} ${y - d}L${x + d} ${y}L${x} ${y + d}L${x - d} ${y}Z`;
    case "cross":
      return `M${x - r} ${y - r}L${x + r} ${y + r}M${x + r} ${y - r}L${x - r} ${y + r}`;
    case "plus":
      return `M${x - d} ${y}H${x + d}M${x} ${y - d}V${y + d}`;
    default:
      return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  }
}

export function swatch({ tone, dash, shape }) {
  return el(
    "svg",
    { class: `swatch tone-${tone}`, viewBox: "0 0 46 12", width: 46, height: 12, "aria-hidden": "true" },
    el("path", { d: "M0 6H46", "stroke-dasharray": dash.length ? dash.join(" ") : null }),
    el("path", { class: "marker", d: marker(shape, 23, 6, 3.5) }),
  );
}

const flat = (klass, height, ...children) =>
  el(
    "svg",
    { class: klass, viewBox: `0 0 1000 ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    children,
  );

const at = (value, low, high) => Math.round((1000 * (value - low)) / (high - low || 1));

/** A bar from 0 to `value`, with a tick where the promise is and a bracket where the cap is; all between 0 and `top`. */
export function bar(value, promised = null, top = 1, cap = null) {
  const x = (part) => Math.min(1000, at(part, 0, top));
  return flat(
    "bar-of",
    16,
    el("rect", { class: "track", x: 0, y: 5, width: 1000, height: 6 }),
    el("rect", { class: "value", x: 0, y: 5, width: x(value ?? 0), height: 6 }),
    promised ? el("path", { class: "tick", d: `M${x(promised)} 0V16` }) : null,
    cap === null ? null : el("path", { class: "tick cap", d: `M${x(cap) - 9} 1H${x(cap)}V15H${x(cap) - 9}` }),
  );
}

/** An interval with its middle, on the scale from `low` to `high`, and a line at zero. */
export function interval(from, middle, to, low, high) {
  const x = (value) => at(value, low, high);
  return flat(
    "interval",
    16,
    el("path", { class: "zero", d: `M${x(0)} 0V16` }),
    el("path", { class: "whisker", d: `M${x(from)} 8H${x(to)}M${x(from)} 4V12M${x(to)} 4V12` }),
    el("path", { class: "middle", d: `M${x(middle)} 8h0.01` }),
  );
}

/** A tick for each of `rounds`, from round `first` to `last`. */
export function strip(rounds, first, last) {
  return flat(
    "strip",
    16,
    el("path", { class: "base", d: "M0 15.5H1000" }),
    el("path", { class: "ticks", d: rounds.map((round) => `M${at(round, first, last)} 2V14`).join("") }),
  );
}
