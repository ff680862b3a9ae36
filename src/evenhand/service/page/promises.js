// What is promised, clause by clause: shares, caps, sets, windows, plays, arms off offer, and what was promised before.

import { el } from "./dom.js";
import { count, counted, percent, time } from "./format.js";
import { named } from "./labels.js";
import { keyOf } from "./promised.js";
import { section } from "./section.js";
import { table } from "./table.js";

const MOST = 8;
const BY = { add: "an arm was added", retire: "an arm was retired", change: "the shares were changed" };

export function promises({ state }) {
  const told = state.promise ?? {};
  const lines = [
    ...floors(state.arms),
    told.tolerance >= 1 ? `An arm may be ${counted(Math.floor(told.tolerance), "decision")} behind its share.` : null,
    told.plays ? `${count(told.plays)} arms are played per round, none of them twice.` : null,
    ...alike(told.caps ?? [], "cap").map(({ who, several, value }) => [
      who,
      ` ${several ? "have each" : "has"} at most ${percent(value)} of the rounds.`,
    ]),
    ...(told.sets ?? []).map(({ arms, share }) => [
      arms.map((arm, i) => [i ? " and " : "", named(arm)]),
      ` together are owed ${percent(share)}.`,
    ]),
    ...(told.windows ?? []).map(({ label, arms, plays, rounds }) => [
      (arms ?? [label]).map((arm, i) => [i ? " or " : "", named(arm)]),
      ` is played at least ${plays === 1 ? "once" : counted(plays, "time")} in any ${counted(rounds, "round")}.`,
    ]),
    ...(told.retired ?? []).map((label) => [named(label), " was retired."]),
  ].filter(Boolean);
  if (!state.promise || (lines.length === 0 && !told.history)) return null;
  return section(
    "promises",
    "Promises",
    "What is promised",
    lines.length
      ? el(
          "ul",
          {},
          lines.map((line) => el("li", {}, line)),
        )
      : null,
    told.history ? history(told.history) : null,
  );
}

/** The promised shares of single arms; those that are the same are said once. */
function floors(arms) {
  const owed = arms.filter(({ promised }) => typeof promised === "number");
  const nothing = owed.filter(({ promised }) => promised === 0).length;
  return [
    ...alike(
      owed.filter(({ promised }) => promised > 0),
      "promised",
    ).map(({ who, several, value }) => [who, ` ${several ? "are each" : "is"} owed at least ${percent(value)} of the rounds.`]),
    nothing > 0 && nothing < owed.length ? `${counted(nothing, "arm")} ${nothing > 1 ? "are" : "is"} owed no share.` : null,
  ];
}

/** Rows with the same value of a field together: who they are, whether they are several, and the value. */
function alike(rows, field) {
  const same = new Map();
  for (const row of rows) same.set(row[field], [...(same.get(row[field]) ?? []), row]);
  return [...same].map(([value, some]) => {
    const shown = some.length <= MOST ? some : some.slice(0, MOST - 1);
    const last = shown.length < some.length ? ` and ${count(some.length - shown.length)} more` : null;
    const joint = (i) => (i === 0 ? "" : i === shown.length - 1 && !last ? " and " : ", ");
    return { value, several: some.length > 1, who: [...shown.map(({ label }, i) => [joint(i), named(label)]), last] };
  });
}

function history(epochs) {
  const arms = new Map(epochs.flatMap(({ shares }) => shares.map(({ label }) => [keyOf(label), label])));
  const owed = ({ shares }, arm) => shares.find(({ label }) => keyOf(label) === arm)?.share;
  return table({
    caption: "What was promised, and from when",
    key: (epoch) => epoch.place,
    rows: epochs.map((epoch, place) => ({ ...epoch, place })).reverse(),
    columns: [
      { name: "From round", number: true, head: true, cell: ({ round }) => count(round) },
      { name: "From", cell: ({ at }) => (at ? time(at) : "the start") },
      { name: "Because", cell: ({ kind }) => BY[kind] ?? "–" },
      ...[...arms].map(([arm, label]) => ({
        name: String(label),
        number: true,
        cell: (epoch) => percent(owed(epoch, arm)),
      })),
      ...(epochs.some(({ others }) => others.length > 0)
        ? [{ name: "Beside shares", cell: ({ others }) => others.join("; ") || "–" }]
        : []),
    ],
  });
}
