// How a study went: shares against promises, rewards, and which decisions the promise forced.

import { el } from "./dom.js";
import { known, manyArms } from "./finder.js";
import { count, counted, number, time } from "./format.js";
import { strip } from "./marks.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { toolbar } from "./toolbar.js";
import { named, noun } from "./labels.js";

const LATEST = 12;

const chart = (id) => el("div", { class: "chart", id, "data-key": id, "data-own": true });

export function promise(view) {
  const { state, series, ui } = view;
  if (!series || series.round.length === 0 || series.labels.length === 0) return null;
  const promised = Boolean(series.promised?.some((share) => share !== null));
  const capped = Boolean(state.promise?.caps?.length);
  return section(
    "shares",
    "Shares",
    promised ? "Shares against promises" : "Shares",
    el(
      "p",
      { class: "hint" },
      promised
        ? `The dotted level beside each line is the share that was promised${capped ? "; the dashed and dotted one is its cap, which it stays below" : ""}.`
        : `The share of the decisions that went to each ${noun(state)}.`,
    ),
    chooser(series, ui, noun(state)),
    toolbar(view),
    chart("chart-shares"),
    series.shortfall && promised
      ? [
          el("h3", {}, "How far behind"),
          el("p", { class: "hint" }, limitWords(state.promise)),
          chart("chart-shortfall"),
        ]
      : null,
  );
}

function limitWords(promise) {
  const slack = promise?.broken_from;
  if (promise?.when !== "at every round" || slack == null) {
    return "Decisions behind the promised share; below zero is ahead. Where there are many rounds, a point is the largest of those read in a stretch; arms far ahead run off the lower edge.";
  }
  return `Decisions behind the promised share; below zero is ahead. An arm ${count(slack)} or more behind breaks the promise. Where there are many rounds, a point is the largest of those read in a stretch; arms far ahead run off the lower edge.`;
}

function chooser(series, ui, word) {
  if (series.labels.length <= ui.chosen.length && series.labels.length <= 3) return null;
  const others = series.labels.length - ui.chosen.length;
  const rest = others > 0 ? ` and ${counted(others, "other")}, not drawn` : "";
  return el(
    "details",
    { class: "chooser", "data-keep": "open", "data-key": "chooser" },
    el("summary", {}, `Lines: ${counted(ui.chosen.length, word)}${rest}`),
    el("button", { type: "button", "data-action": "furthest" }, "Choose those with a promise and the largest"),
    " ",
    el("button", { type: "button", "data-action": "everyLine" }, `Draw all ${count(series.labels.length)}`),
    el(
      "fieldset",
      {},
      el("legend", { class: "unseen" }, "Arms to draw"),
      series.labels.map((label, i) =>
        el(
          "label",
          { hidden: !known(label, ui.line) },
          el("input", { type: "checkbox", "data-action": "choose", "data-index": i, checked: ui.chosen.includes(i) }),
          named(label),
        ),
      ),
    ),
    manyArms(series.labels)
      ? el(
          "label",
          { class: "find" },
          `Find ${word}s `,
          el("input", { type: "search", "data-action": "findLine", value: ui.line, autocomplete: "off" }),
        )
      : null,
  );
}

export function reward(view) {
  const { state, series } = view;
  if (!series || !series.reward_mean?.some((value) => value !== null)) return null;
  const window = state.reward?.window ? `the last ${counted(state.reward.window, "report")}` : "recent reports";
  return section(
    "reward",
    "Reward",
    "Reward",
    el(
      "p",
      {},
      "Mean so far ",
      el("strong", {}, number(state.reward?.mean)),
      `; over ${window} `,
      el("strong", {}, number(state.reward?.recent)),
      ".",
    ),
    toolbar(view, { told: false }),
    chart("chart-reward"),
  );
}

export function forced({ state, forced: decisions, ui }) {
  if (!decisions || !state.promise) return null;
  if (decisions.length === 0)
    return section(
      "owed",
      "Forced",
      "Forced by the promise",
      el("p", {}, "The promise has forced no decision."),
    );
  const first = Math.min(...decisions.map(({ round }) => round));
  const last = Math.max(state.decisions, ...decisions.map(({ round }) => round));
  const of = new Map();
  const latest = new Map();
  for (const { arm, round, at } of decisions) {
    of.set(arm, [...(of.get(arm) ?? []), round]);
    if (!latest.has(arm)) latest.set(arm, at);
  }
  const rows = state.arms
    .map(({ label }) => label)
    .filter((label) => of.has(label))
    .map((label) => ({ label, rounds: of.get(label) }));
  if (rows.length > LATEST) rows.sort((a, b) => Math.max(...b.rounds) - Math.max(...a.rounds));
  const name = encodeURIComponent(state.name);
  return section(
    "owed",
    "Forced",
    "Forced by the promise",
    el(
      "p",
      { class: "hint" },
      `The latest ${counted(decisions.length, "decision")} that the promise forced, since an arm was owed its share, in rounds ${count(first)} to ${count(last)}; a tick is a decision.`,
    ),
    table({
      caption: "Forced decisions of each arm",
      key: ({ label }) => `${typeof label} ${label}`,
      rows,
      hidden: true,
      left: ui.all ? () => false : (_, i) => i >= LATEST,
      columns: [
        { name: "Arm", head: true, cell: ({ label }) => named(label) },
        { name: `Rounds ${count(first)} to ${count(last)}`, cell: ({ rounds }) => strip(rounds, first, last) },
        { name: "Times", number: true, cell: ({ rounds }) => count(rounds.length) },
        { name: "Last at round", number: true, cell: ({ rounds }) => count(Math.max(...rounds)) },
        { name: "Last at", cell: ({ label }) => time(latest.get(label)) },
      ],
    }),
    rows.length > LATEST
      ? el(
          "p",
          { class: "pager" },
          el(
            "button",
            { type: "button", "data-action": "all" },
            ui.all ? "Show fewer" : `Show all ${count(rows.length)}`,
          ),
        )
      : null,
    el(
      "details",
      { "data-keep": "open", "data-key": "owed-list" },
      el("summary", {}, "Show as list"),
      el(
        "ol",
        { class: "plain" },
        decisions
          .slice(0, 100)
          .map(({ id, round, at, arm }) =>
            el(
              "li",
              { "data-key": id },
              el("a", { href: `#study=${name}&decision=${id}` }, `round ${count(round)}`),
              " · ",
              named(arm),
              " · ",
              time(at),
            ),
          ),
      ),
    ),
  );
}
