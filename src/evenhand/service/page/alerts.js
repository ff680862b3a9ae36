// What wants somebody's care: open tickets and alerts.

import { el } from "./dom.js";
import { ago, count, counted, number, since, time, title } from "./format.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { STORE, badge, command, named, noun, told, watched } from "./labels.js";

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

export function alerts({ state }) {
  const { monitors } = state;
  const of = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const acknowledgeable = state.alerts.some((alert) => "acknowledged" in alert);
  return section(
    "alerts",
    "Alerts",
    "Alerts and monitors",
    state.alerts.length === 0 ? none(state) : null,
    state.alerts.length === 0
      ? null
      : table({
          caption: "Alerts, newest first",
          key: ({ id }) => id,
          rows: state.alerts,
          stack: true,
          columns: [
            { name: "State", head: true, cell: stateOf },
            { name: "When", cell: (alert) => watched({ ...of.get(alert.monitor), ...alert }) },
            { name: "Value", number: true, cell: ({ value }) => number(value) },
            { name: "Raised", cell: ({ since: raised }) => [time(raised), " (", since(raised), ")"] },
            { name: "Cleared", cell: ({ cleared }) => time(cleared) },
            acknowledgeable ? { name: "Acknowledged", cell: acknowledged } : null,
          ].filter(Boolean),
        }),
    monitors.length === 0
      ? null
      : table({
          caption: "Monitors",
          key: ({ id }) => id,
          rows: monitors,
          stack: true,
          columns: [
            { name: "Watches", head: true, cell: ({ metric }) => String(metric) },
            { name: "An alert is raised when", cell: watched },
          ],
        }),
  );
}

function stateOf({ cleared, acknowledged }) {
  if (cleared) return badge("good", "✓", "cleared");
  return acknowledged ? badge("none", "△", "acknowledged") : badge("bad", "▲", "raised");
}

function acknowledged({ id, cleared, acknowledged: at, by, note }) {
  if (at) return [time(at), by ? ` by key ${by}` : null, note ? `: ${note}` : null];
  if (cleared) return "–";
  return el("button", { type: "button", "data-action": "askToAcknowledge", "data-id": id }, "Acknowledge");
}

function none(state) {
  if (state.monitors.length > 0) return el("p", {}, "No alert so far.");
  return [
    el("p", {}, "Nothing is watched, so nothing can raise an alert. To be told of ten tickets that wait for an hour:"),
    el("pre", {}, el("code", {}, command("monitor", state, "add --metric overdue --threshold 10 --window 3600"))),
    el("p", { class: "hint" }, `${STORE}.`),
  ];
}
