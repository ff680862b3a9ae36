// What wants somebody's care: open tickets and alerts.

import { el } from "./dom.js";
import { ago, count, counted, number, time } from "./format.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { badge, command } from "./words.js";

const FEW = 8;

export function open({ state, open: tickets, elapsed, ui }) {
  if (!tickets) return null;
  const name = encodeURIComponent(state.name);
  if (state.open === 0)
    return section("open", "Open", "Open tickets", el("p", {}, "Every decision was reported or forgotten."));
  const shown = ui.allOpen ? tickets : tickets.slice(0, FEW);
  const some = shown.length < state.open ? `The ${count(shown.length)} newest of ${count(state.open)}. ` : "";
  return section(
    "open",
    "Open",
    `${counted(state.open, "open ticket")}`,
    el(
      "p",
      { class: "hint" },
      `${some}Each waits for a report: `,
      el("code", {}, command("tell", state, "TICKET REWARD")),
      ".",
    ),
    table({
      caption: "Open tickets",
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
        { name: "Arm", cell: ({ arm }) => String(arm ?? "–") },
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

export function alerts({ state }) {
  const monitors = state.monitors ?? [];
  return section(
    "alerts",
    "Alerts",
    "Alerts and monitors",
    state.alerts.length === 0
      ? el("p", {}, monitors.length ? "No alert so far." : "Nothing is monitored, so nothing can raise an alert.")
      : table({
          caption: "Alerts",
          key: ({ id }) => id,
          rows: state.alerts,
          stack: true,
          columns: [
            {
              name: "State",
              head: true,
              cell: ({ cleared }) => (cleared ? badge("good", "✓", "cleared") : badge("bad", "▲", "raised")),
            },
            { name: "Metric", cell: ({ metric }) => String(metric) },
            { name: "Since", cell: ({ since }) => time(since) },
            { name: "Value", number: true, cell: ({ value }) => number(value) },
            { name: "Threshold", number: true, cell: ({ threshold }) => number(threshold) },
          ],
        }),
    monitors.length === 0
      ? null
      : table({
          caption: "Monitors",
          key: ({ id }) => id,
          rows: monitors,
          stack: true,
          columns: [
            { name: "Metric", head: true, cell: ({ metric }) => String(metric) },
            { name: "Of", cell: ({ subject }) => String(subject ?? "the study") },
            { name: "Threshold", number: true, cell: ({ threshold }) => number(threshold) },
            { name: "Window", number: true, cell: ({ window }) => count(window) },
          ],
        }),
  );
}
