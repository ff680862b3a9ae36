// The decisions, newest first, and all there is to know about a single one.

import { el } from "./dom.js";
import { ago, count, number, percent, time, title } from "./format.js";
import { bar } from "./marks.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { badge, named, noun } from "./labels.js";

const STATUS = {
  open: ["none", "○", "open"],
  told: ["good", "✓", "told"],
  forgotten: ["none", "✕", "forgotten"],
  expired: ["none", "✕", "expired"],
};

export function decisionsSection({ state, page, ui }) {
  if (!page) return null;
  const name = encodeURIComponent(state.name);
  const word = noun(state);
  const filtered = ui.arm !== "" || ui.reason !== "" || ui.open !== "";
  return section(
    "decisions",
    "Decisions",
    "Decisions",
    el(
      "form",
      { class: "filters", "data-action": "filters", "aria-label": "Which decisions" },
      choice("arm", title(word), ui.arm, ["", ...state.arms.map(({ label }) => String(label))], `every ${word}`),
      choice("reason", "Reason", ui.reason, ["", ...ui.reasons], "every reason"),
      choice("open", "Tickets", ui.open, ["", "true"], "all", { true: "open only" }),
    ),
    ui.newer
      ? el(
          "p",
          { class: "hint held" },
          "The list does not change while you read it. ",
          el("button", { type: "button", "data-action": "newest" }, "Show newer decisions"),
        )
      : null,
    page.decisions.length === 0
      ? el("p", {}, filtered ? "No decision fits these filters." : "No decisions yet.")
      : table({
          caption: "Decisions, newest first",
          key: ({ id }) => id,
          rows: page.decisions,
          stack: true,
          hidden: true,
          columns: [
            {
              name: "Decision",
              head: true,
              cell: ({ id }) => el("a", { href: `#study=${name}&decision=${id}` }, count(id)),
            },
            { name: "At", cell: ({ at }) => time(at) },
            { name: title(word), cell: ({ arm }) => named(arm) },
            { name: "Reason", cell: ({ reason }) => named(reason) },
            { name: "Ticket", cell: ({ status }) => badge(...(STATUS[status] ?? ["none", "○", status])) },
            { name: "Reward", number: true, cell: ({ reward }) => number(reward) },
          ],
        }),
    el(
      "p",
      { class: "pager" },
      el("button", { type: "button", "data-action": "newest", disabled: ui.pages.length === 0 }, "Newest"),
      el("button", { type: "button", "data-action": "newer", disabled: ui.pages.length === 0 }, "Newer"),
      el(
        "button",
        { type: "button", "data-action": "older", disabled: page.next === null || page.next === undefined },
        "Older",
      ),
    ),
  );
}

function choice(name, label, chosen, values, any, words = {}) {
  return el(
    "label",
    {},
    `${label} `,
    el(
      "select",
      { name },
      values.map((value) =>
        el(
          "option",
          { value, selected: value === chosen, "data-key": `option ${value}` },
          value === "" ? any : (words[value] ?? value),
        ),
      ),
    ),
  );
}

/** What the dialog shows of one decision. */
export function decisionDetails(decision, state) {
  const told = decision.status === "told";
  const shown = {
    [title(noun(state))]: String(decision.arm ?? "–"),
    Taken: time(decision.at),
    Ticket: badge(...(STATUS[decision.status] ?? ["none", "○", decision.status])),
  };
  if (told) Object.assign(shown, { Reported: time(decision.told_at), Reward: number(decision.reward) });
  else if (decision.status === "expired" && decision.reward !== null) shown["Reward on expiry"] = number(decision.reward);
  else if (decision.status === "open") shown["Waits for"] = ago(decision.age_seconds);
  if (decision.key) shown["Idempotency key"] = el("code", {}, decision.key);
  if (decision.actor) shown["Asked by"] = String(decision.actor);
  if (decision.version) shown["Policy version"] = el("code", {}, decision.version);
  return [
    el(
      "header",
      {},
      el("h2", { id: "decision-title", tabindex: "-1", autofocus: true }, `Decision ${count(decision.id)}`),
      close(),
    ),
    el("p", { class: "headline" }, sentence(decision)),
    el(
      "dl",
      { class: "fields" },
      Object.entries(shown).map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    ),
    probabilities(decision, state),
    given(decision.given, state),
    el(
      "details",
      {},
      el("summary", {}, "The whole record"),
      el("pre", { tabindex: "0" }, el("code", {}, JSON.stringify(decision, null, 2))),
    ),
  ];
}

export function decisionProblem(message) {
  return [
    el("header", {}, el("h2", { id: "decision-title", tabindex: "-1" }, "This decision cannot be shown"), close()),
    el("p", {}, message),
  ];
}

const close = () => el("button", { type: "button", "data-action": "close", "aria-label": "Close" }, "Close");

function sentence({ arm, reason, probabilities: p, index }) {
  const chance = p && typeof p[index] === "number" ? `, drawn with probability ${percent(p[index])}` : "";
  return `${arm ?? "This"} was chosen${chance}${reason ? `: ${reason}` : ""}.`;
}

function probabilities({ probabilities: p, index }, state) {
  if (!p) return null;
  const rows = p.map((value, i) => ({ label: state.arms[i]?.label ?? i, value, i }));
  return el(
    "div",
    {},
    el("h3", {}, "Probabilities"),
    table({
      caption: "Probability of each arm",
      key: ({ i }) => i,
      rows,
      hidden: true,
      columns: [
        { name: "Arm", head: true, cell: ({ label, i }) => [named(label), i === index ? " (chosen)" : ""] },
        { name: "Probability", number: true, cell: ({ value }) => percent(value) },
        { name: "Drawn", cell: ({ value }) => bar(value) },
      ],
    }),
  );
}

/** The contexts of a decision as names of columns and rows of cells: rows of numbers, a table, or one row by names. */
function columnsOf(contexts) {
  if (Array.isArray(contexts)) {
    if (!contexts.every(Array.isArray)) return null;
    return { names: (contexts[0] ?? []).map((_, k) => `x${k + 1}`), cells: contexts };
  }
  if (!contexts || typeof contexts !== "object") return null;
  const columns = Object.entries(contexts.$table ?? contexts).map(([name, cells]) => [name, [cells].flat()]);
  const cells = (columns[0]?.[1] ?? []).map((_, i) => columns.map(([, column]) => column[i]));
  return { names: columns.map(([name]) => name), cells };
}

function given(given, state) {
  const contexts = columnsOf(given?.contexts);
  if (!contexts) return null;
  const shared = contexts.cells.length === 1 && state.arms.length > 1;
  const rows = contexts.cells.map((values, i) => ({
    label: shared ? "all arms" : (state.arms[i]?.label ?? i),
    values,
    i,
  }));
  return el(
    "div",
    {},
    el("h3", {}, "What was known"),
    table({
      caption: "Context of each arm",
      key: ({ i }) => i,
      rows,
      hidden: true,
      columns: [
        { name: "Arm", head: true, cell: ({ label }) => named(label) },
        ...contexts.names.map((name, k) => ({
          name,
          number: contexts.cells.every((values) => typeof values[k] === "number"),
          cell: ({ values }) => (typeof values[k] === "number" ? number(values[k]) : String(values[k])),
        })),
      ],
    }),
  );
}
