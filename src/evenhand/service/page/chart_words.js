// A chart as words: its legend, a sentence for each round, and a table.

import { el } from "./dom.js";
import { count, exactly, when } from "./format.js";
import { named } from "./labels.js";
import { swatch } from "./marks.js";

const moment = ({ at }, index) => (at?.[index] === undefined ? null : new Date(1000 * at[index]));

/** "7" for a point that is one round, "61 to 80" for one that stands for several. */
const numbers = ({ round, from = round }, index) =>
  from[index] === round[index] ? count(round[index]) : `${count(from[index])} to ${count(round[index])}`;

/** "round 7", or "largest in rounds 61 to 80". */
const rounds = (spec, index) => {
  const text = numbers(spec, index);
  return text.includes(" ") ? `largest in rounds ${text}` : `round ${text}`;
};

/** "Round 7: a 20.0%, b 31.2%". */
export function sentence(spec, index) {
  const { lines, text } = spec;
  const [first, ...rest] = rounds(spec, index);
  return `${first.toUpperCase()}${rest.join("")}: ${lines.map((line) => `${line.label} ${text(line.values[index])}`).join(", ")}`;
}

/** "round 7, 14:05:33" or "largest in rounds 61 to 80, 14:05:33", the time of the last of them. */
export function place(spec, index) {
  const at = moment(spec, index);
  return [rounds(spec, index), at && when(at)].filter(Boolean).join(", ");
}

/** The rows of the legend; `index` is the round to tell of, null for none, `focused` the line that is pointed at. */
export function legend(spec, index, focused) {
  const at = index === null ? null : moment(spec, index);
  const promised = ({ least, most }) =>
    [
      typeof least === "number" ? `, promised ${spec.text(least)}` : "",
      typeof most === "number" ? `, at most ${spec.text(most)}` : "",
    ].join("");
  return [
    el(
      "li",
      { class: "moment" },
      el("span", { class: "round" }, index === null ? "" : rounds(spec, index)),
      at ? [" · ", el("time", { datetime: at.toISOString(), title: exactly(at) }, when(at))] : null,
    ),
    spec.lines.map((line, i) =>
      el(
        "li",
        { "data-line": i, class: i === focused ? "focused" : null },
        swatch(line.look),
        el("span", { class: "name" }, named(line.label)),
        el("span", { class: "figure" }, index === null ? "" : spec.text(line.values[index]), promised(line)),
      ),
    ),
  ];
}

/** The values at every round, newest first; with clock time along the axis the times as well. */
export function asTable(spec) {
  const { round, from, at, axis, lines, text, title } = spec;
  const timed = axis === "time" && at;
  const column = (name) => el("th", { scope: "col" }, name);
  const cells = (i) => {
    const moment = at ? new Date(1000 * at[i]) : null;
    return [
      el("th", { scope: "row", title: moment && exactly(moment) }, numbers(spec, i)),
      timed ? el("td", {}, when(moment)) : null,
      lines.map((line) => el("td", {}, text(line.values[i]))),
    ];
  };
  return el(
    "table",
    {},
    el("caption", {}, `${title}, newest first`),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        column(from ? "Rounds (largest)" : "Round"),
        timed ? column("Time") : null,
        lines.map((line) => column(named(line.label))),
      ),
    ),
    el("tbody", {}, round.map((one, i) => el("tr", { "data-key": one }, cells(i))).reverse()),
  );
}
