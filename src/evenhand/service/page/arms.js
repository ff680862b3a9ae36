// How the arms and their groups stand, and what bias was learned.

import { el } from "./dom.js";
import { finder, shownArms } from "./finder.js";
import { count, counted, number, percent, title } from "./format.js";
import { bar, interval } from "./marks.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { named, noun } from "./labels.js";
import { capsOf, keyOf, keyOfSet, setsOf, windowsOf } from "./promised.js";

export function arms({ state, ui }) {
  if (state.arms.length === 0) return null;
  const grouped = state.arms.some((arm) => arm.group !== null && arm.group !== undefined);
  const promised = state.arms.some((arm) => typeof arm.promised === "number");
  const capOf = capsOf(state.promise);
  const capped = Boolean(state.promise?.caps?.length);
  const windowOf = windowsOf(state.promise);
  const sets = setsOf(state);
  const share = ({ share, promised, label }) => Math.max(share ?? 0, promised ?? 0, capOf(label) ?? 0);
  const top = Math.max(...[...state.arms, ...sets].map(share), 1e-9);
  const columns = [
    { name: title(noun(state)), head: true, cell: armOrSet, sort: (arm) => String(arm.label) },
    grouped ? { name: "Group", cell: (arm) => named(arm.group), sort: (arm) => String(arm.group) } : null,
    { name: "Decisions", number: true, cell: (arm) => count(arm.decisions), sort: (arm) => arm.decisions },
    { name: "Share", number: true, cell: (arm) => percent(arm.share), sort: (arm) => arm.share },
    promised
      ? { name: "Promised", number: true, cell: (arm) => percent(arm.promised || null), sort: (arm) => arm.promised }
      : null,
    capped
      ? {
          name: "At most",
          number: true,
          cell: ({ label }) => percent(capOf(label)),
          sort: ({ label }) => capOf(label) ?? Infinity,
        }
      : null,
    state.promise?.windows?.length ? { name: "Window", number: true, cell: (arm) => windowOf(arm) ?? "–" } : null,
    promised
      ? {
          name: "Behind now",
          number: true,
          cell: (arm) => behind(arm.promised ? arm.owed : null),
          sort: (arm) => (arm.promised ? arm.owed : -Infinity),
        }
      : null,
    state.reward
      ? { name: "Mean reward", number: true, cell: (arm) => number(arm.reward), sort: (arm) => arm.reward }
      : null,
    {
      name: promised ? "Share against promise" : "Share drawn",
      cell: (arm) => bar(arm.share, arm.promised ?? null, top, capOf(arm.label)),
    },
  ].filter(Boolean);
  const by = columns.find(({ name, sort }) => sort && name === ui.sorted?.name);
  const rows = by
    ? [...state.arms].sort((a, b) => compare(by.sort(a), by.sort(b)) * (ui.sorted.down ? -1 : 1))
    : state.arms;
  const word = noun(state);
  const shown = shownArms(state, ui);
  const sorts = columns.filter(({ sort }) => sort).map(({ name }) => name);
  return section(
    "arms",
    title(`${word}s`),
    counted(state.arms.length, word),
    finder(state, ui, word, sorts, shown),
    table({
      caption: `${title(word)}s: decisions, shares and rewards`,
      columns,
      rows: [...rows, ...sets],
      key: ({ label, arms }) => (arms ? keyOfSet(arms) : keyOf(label)),
      sorted: ui.sorted,
      hidden: true,
      left: (arm) => !arm.arms && !shown.has(arm),
    }),
  );
}

const armOrSet = ({ label, arms }) => (arms ? arms.map((arm, i) => [i ? " + " : "", named(arm)]) : named(label));

function compare(a, b) {
  if (typeof a === "string" && typeof b === "string") return a.localeCompare(b, "en", { numeric: true });
  return (a ?? -Infinity) - (b ?? -Infinity);
}

function behind(owed) {
  if (owed === null || owed === undefined) return "–";
  const whole = Math.abs(owed - Math.round(owed)) < 1e-6;
  const size = whole ? count(Math.abs(Math.round(owed))) : number(Math.abs(owed));
  return owed > -1e-6 ? size : `ahead by ${size}`;
}

export function groups({ state }) {
  if (!state.groups || state.groups.length === 0) return null;
  return section(
    "groups",
    "Groups",
    "Shares of groups",
    table({
      caption: "Groups and their shares of the decisions",
      key: ({ label }) => label,
      rows: state.groups,
      hidden: true,
      columns: [
        { name: "Group", head: true, cell: ({ label }) => named(label) },
        { name: "Share", number: true, cell: ({ share }) => percent(share) },
        { name: "Share drawn", cell: ({ share }) => bar(share) },
      ],
    }),
  );
}

export function bias({ state }) {
  if (!state.bias || state.bias.length === 0) return null;
  const ends = state.bias.flatMap((row) => [row.low, row.high]).filter(Number.isFinite);
  const room = 0.05 * (Math.max(0, ...ends) - Math.min(0, ...ends));
  const [low, high] = [Math.min(0, ...ends) - room, Math.max(0, ...ends) + room];
  const verdict = (row) => (row.low > 0 ? "above zero" : row.high < 0 ? "below zero" : "may be zero");
  const known = (row) => Number.isFinite(row.low) && Number.isFinite(row.high);
  return section(
    "bias",
    "Bias",
    "Learned bias",
    el(
      "p",
      { class: "hint" },
      "How much the observed reward favours a group over its reference, as learned so far. An interval that does not reach the vertical line at zero shows a bias.",
    ),
    table({
      caption: "Bias of each group",
      key: (row) => `${row.group} ${row.reference} ${row.feature}`,
      rows: state.bias,
      hidden: true,
      columns: [
        { name: "Group", head: true, cell: ({ group }) => named(group) },
        { name: "Against", cell: ({ reference }) => named(reference) },
        { name: "Feature", cell: ({ feature }) => named(feature) },
        { name: "Bias", number: true, cell: (row) => number(row.bias) },
        { name: "From", number: true, cell: (row) => number(row.low) },
        { name: "To", number: true, cell: (row) => number(row.high) },
        {
          name: "Interval",
          cell: (row) => (known(row) ? interval(row.low, row.bias, row.high, low, high) : "not yet"),
        },
        { name: "In words", cell: (row) => el("span", { class: "badge" }, known(row) ? verdict(row) : "unknown") },
      ],
    }),
  );
}
