// What is promised beside shares that stay as they are: plays, caps, sets, windows, arms off offer, and past shares.

import { el } from "./dom.js";
import { count, counted, number, percent, time } from "./format.js";
import { named } from "./labels.js";
import { section } from "./section.js";
import { table } from "./table.js";

const BY = { add: "an arm was added", retire: "an arm was retired", change: "the shares were changed" };

export function promises({ state }) {
  const told = state.promise ?? {};
  const lines = [
    told.plays ? `${count(told.plays)} arms are played in a round, none of them twice.` : null,
    ...(told.behind ?? []).map(({ label, behind }) => [named(label), ` is behind its share by at most ${number(behind)}.`]),
    ...(told.caps ?? []).map(({ label, cap }) => [named(label), ` has at most ${percent(cap)} of the rounds.`]),
    ...(told.sets ?? []).map(({ arms, share }) => [
      arms.map((arm, i) => [i ? " and " : "", named(arm)]),
      ` together are owed ${percent(share)}.`,
    ]),
    ...(told.windows ?? []).map(({ label, arms, plays, rounds }) => [
      (arms ?? [label]).map((arm, i) => [i ? " or " : "", named(arm)]),
      ` is played at least ${plays === 1 ? "once" : counted(plays, "time")} in any ${counted(rounds, "round")}.`,
    ]),
    ...(told.retired ?? []).map((label) => [named(label), " was taken off offer."]),
  ].filter(Boolean);
  if (lines.length === 0 && !told.history) return null;
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

function history(epochs) {
  const arms = new Map(epochs.flatMap(({ shares }) => shares.map(({ label }) => [key(label), label])));
  const owed = ({ shares }, arm) => shares.find(({ label }) => key(label) === arm)?.share;
  return table({
    caption: "Promised shares, and from when",
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
    ],
  });
}

const key = (label) => `${typeof label} ${label}`;
