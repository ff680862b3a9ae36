// Tickets that wait for a report, those that wait longest first.

import { el } from "./dom.js";
import { ago, count, counted, time, title } from "./format.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { STORE, command, named, noun, told } from "./labels.js";

const FEW = 8;

export function open({ state, open: tickets, elapsed, ui }) {
  if (!tickets) return null;
  const name = encodeURIComponent(state.name);
  if (state.open === 0)
    return section("open", "Open", "Open tickets", el("p", {}, "Every decision was reported or forgotten."));
  const shown = ui.allOpen ? tickets : tickets.slice(0, FEW);
  const some = shown.length < state.open ? `The ${count(shown.length)} oldest of ${count(state.open)}. ` : "";
  return section(
    "open",
    "Open",
    `${counted(state.open, "open ticket")}`,
    el(
      "p",
      { class: "hint" },
      `${some}Those that wait longest come first. Each waits for a report: `,
      el("code", {}, command("tell", state, `TICKET ${told(state)}`)),
      `. ${STORE}, TICKET the number of the decision.`,
    ),
    table({
      caption: "Open tickets, oldest first",
      key: ({ id }) => id,
      rows: shown,
      stack: true,
      hidden: true,
      columns: [
        {
          name: "Decision",
          head: true,
          cell: ({ id }) => el("a", { href: `#study=${name}&decision=${id}` }, count(id)),
        },
        { name: title(noun(state)), cell: ({ arm }) => named(arm) },
        { name: "Asked", cell: ({ at }) => time(at) },
        { name: "Waits for", number: true, cell: ({ age_seconds: age }) => ago(age + elapsed) },
      ],
    }),
    tickets.length > FEW
      ? el(
          "p",
          { class: "pager" },
          el(
            "button",
            { type: "button", "data-action": "allOpen", "aria-expanded": String(ui.allOpen) },
            ui.allOpen ? "Show fewer" : `Show ${count(tickets.length)}`,
          ),
        )
      : null,
  );
}
