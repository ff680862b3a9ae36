// Who decides for a study with several workers, and the one promise over all of them.

import { el } from "./dom.js";
import { count, counted, number, time } from "./format.js";
import { named } from "./labels.js";
import { section } from "./section.js";
import { table } from "./table.js";

export function workers({ state }) {
  const rows = state.workers ?? [];
  if (rows.length === 0) return null;
  return section(
    "workers",
    "Workers",
    counted(rows.length, "worker"),
    el("p", { id: "room" }, sentence(state.room ?? [])),
    table({
      caption: "Workers: decisions, and how far each may still fall behind",
      key: ({ worker }) => worker,
      rows,
      columns: [
        { name: "Worker", head: true, cell: ({ worker }) => worker },
        { name: "State", cell: (row) => row.state },
        { name: "Decisions", number: true, cell: ({ rounds }) => count(rounds) },
        { name: "May fall behind by", number: true, cell: ({ surplus }) => number(surplus) },
        { name: "Not learned from yet", number: true, cell: ({ lag }) => count(lag) },
        { name: "Last heard", cell: ({ heard }) => (heard ? time(heard) : "–") },
        { name: "Process", cell: ({ holder }) => holder ?? "–" },
      ],
      hidden: true,
    }),
  );
}

function sentence(room) {
  if (room.length === 0) return "Each worker decides by itself.";
  const least = room.reduce((a, b) => (b.pulls < a.pulls ? b : a));
  const kept = least.pulls > 0;
  return [
    kept ? "One promise is kept over all workers: in any order of their decisions " : "The promise is BROKEN: ",
    named(least.label),
    kept ? ` could still lack ${number(least.pulls)} plays.` : " lacks plays in some order of the workers' decisions.",
  ];
}
