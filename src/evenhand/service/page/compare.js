// Two studies side by side: the same axes, the same colours for the same arms.

import { chartsOf, firstDrawn } from "./charts.js";
import { el } from "./dom.js";
import { finder, shownArms } from "./finder.js";
import { count, number, percent, since, title } from "./format.js";
import { named, noun, promiseWords } from "./labels.js";
import { section } from "./section.js";
import { table } from "./table.js";
import { toolbar } from "./toolbar.js";

const SIDES = ["first", "second"];
const address = (name, other) => `#study=${encodeURIComponent(name)}&with=${encodeURIComponent(other)}`;

/** The section of a study's page that leads to a comparison; null where there is no other study. */
export function comparing({ state, names }) {
  const others = (names ?? []).filter((name) => name !== state.name);
  if (others.length === 0) return null;
  return section(
    "compare",
    "Compare",
    "Compare with another study",
    el(
      "p",
      { class: "hint" },
      "Shares, shortfalls and rewards side by side, on the same axes. The address of this page can be shared.",
    ),
    others.length <= 12
      ? el(
          "ul",
          { class: "choices" },
          others.map((name) => el("li", {}, el("a", { href: address(state.name, name) }, name))),
        )
      : el("label", {}, "Study ", selection(others, null)),
  );
}

function selection(names, chosen) {
  return el(
    "select",
    { "data-action": "compareWith" },
    [chosen === null ? el("option", { value: "", "data-key": "option " }, "choose one") : null],
    names.map((name) => el("option", { value: name, selected: name === chosen, "data-key": `option ${name}` }, name)),
  );
}

/** view: {state, series, names, other: {state, series}, ui}. */
export function comparison(view) {
  const { state, other } = view;
  const pair = [state, other.state];
  const longer = [view, other].reduce((a, b) => ((b.series.round.at(-1) ?? 0) > (a.series.round.at(-1) ?? 0) ? b : a));
  const names = [...new Set([other.state.name, ...view.names])].filter((name) => name !== state.name);
  const charts = (kind, heading, hint) =>
    section(
      `compare-${kind}`,
      heading,
      heading,
      el("p", { class: "hint" }, hint),
      el(
        "div",
        { class: "beside" },
        SIDES.map((side, i) =>
          el(
            "div",
            { "data-key": side },
            el("h3", {}, pair[i].name),
            [view, other][i].series.round.length === 0
              ? el("p", {}, "No decisions yet.")
              : el("div", { class: "chart", id: `${side}-${kind}`, "data-key": `${side}-${kind}`, "data-own": true }),
          ),
        ),
      ),
    );
  return [
    el(
      "nav",
      { class: "crumbs", "aria-label": "Where you are", "data-key": "crumbs" },
      el("a", { href: "#studies" }, "Studies"),
      " / ",
      el("a", { href: `#study=${encodeURIComponent(state.name)}` }, state.name),
      ` / with ${other.state.name}`,
    ),
    el(
      "header",
      { class: "head", "data-key": "head" },
      el("h1", { tabindex: "-1" }, `${state.name} and ${other.state.name}`),
      el(
        "p",
        { class: "filters" },
        el("label", {}, "Compare with ", selection(names, other.state.name)),
        el("a", { href: address(other.state.name, state.name) }, "Swap sides"),
      ),
      longer.series.round.length
        ? toolbar({ ...view, series: longer.series, close: longer.close }, { timed: false })
        : null,
    ),
    section("compare-figures", "Figures", "In figures", figures(pair)),
    charts("shares", "Shares", "The dotted level beside each line is the share that was promised."),
    view.series.shortfall && other.series.shortfall
      ? charts(
          "shortfall",
          "How far behind",
          "Decisions behind the promised share; below zero is ahead. Each point is the worst of a stretch of rounds.",
        )
      : null,
    charts("reward", "Rewards", "The mean of all rewards so far, and of recent ones."),
    section("compare-arms", title(`${noun(state)}s`), `${title(noun(state))}s`, arms(pair, view.ui)),
  ];
}

function figures(pair) {
  const rows = {
    Decisions: ({ decisions }) => count(decisions),
    Policy: ({ policy }) => el("code", {}, policy),
    Promise: ({ promise }) => `${promiseWords(promise).mark} ${promiseWords(promise).word}`,
    "Largest shortfall": ({ promise }) => number(promise?.worst_shortfall),
    "Mean reward": ({ reward }) => number(reward?.mean),
    "Mean of recent rewards": ({ reward }) => number(reward?.recent),
    "Open tickets": ({ open }) => count(open),
    Created: ({ created }) => since(created),
  };
  return table({
    caption: "Both studies in figures",
    key: ([name]) => name,
    rows: Object.entries(rows),
    hidden: true,
    columns: [
      { name: "", head: true, cell: ([name]) => name },
      ...pair.map((state) => ({ name: state.name, number: true, cell: ([, cell]) => cell(state) })),
    ],
  });
}

function arms(pair, ui) {
  const longer = pair.reduce((a, b) => (b.arms.length > a.arms.length ? b : a));
  const seen = new Set(pair.flatMap((state) => [...shownArms(state, ui)].map(({ label }) => key(label))));
  const of = pair.map(({ arms }) => new Map(arms.map((arm) => [key(arm.label), arm])));
  const labels = new Map(pair.flatMap(({ arms }) => arms.map(({ label }) => [key(label), label])));
  const parts = {
    Share: ({ share }) => percent(share),
    Promised: ({ promised }) => percent(promised),
    "Mean reward": ({ reward }) => number(reward),
  };
  const both = table({
    caption: "Arms of both studies",
    key: ([name]) => name,
    rows: [...labels],
    hidden: true,
    left: ([name]) => !seen.has(name),
    columns: [
      { name: "Arm", head: true, cell: ([, label]) => named(label) },
      ...Object.entries(parts).flatMap(([name, cell]) =>
        pair.map((state, i) => ({
          name: `${name}, ${state.name}`,
          number: true,
          cell: ([arm]) => (of[i].has(arm) ? cell(of[i].get(arm)) : "–"),
        })),
      ),
    ],
  });
  return [finder(longer, ui, noun(longer), [], seen), both];
}

const key = (label) => `${typeof label} ${label}`;

/** The specs of both studies' charts: shared ranges, and the same look for the same arm. */
export function chartsOfBoth({ series, state, close, other, ui }) {
  const names = (one, chosen) => chosen.map((i) => one.labels[i]).map(key);
  const looks = [
    ...new Set([...names(series, ui.chosen), ...names(other.series, firstDrawn(other.series, other.state))]),
  ];
  const view = (one) => {
    const chosen = one.series.labels.map((_, i) => i).filter((i) => looks.includes(key(one.series.labels[i])));
    return { ...one, lookOf: (label) => looks.indexOf(key(label)), ui: { ...ui, axis: "rounds", chosen } };
  };
  const views = [view({ series, state, close }), view(other)];
  const [first, second] = views.map((view) => (view.series.round.length ? chartsOf(view) : {}));
  const specs = {};
  for (const id of new Set([...Object.keys(first), ...Object.keys(second)])) {
    const both = [first[id], second[id]].filter(Boolean);
    const ends = (name) => [
      Math.min(...both.map((spec) => spec[name][0])),
      Math.max(...both.map((spec) => spec[name][1])),
    ];
    const shared = { range: ends("range"), domain: ends("domain") };
    [first[id], second[id]].forEach((spec, i) => {
      const { name } = views[i].state;
      if (spec) specs[id.replace("chart", SIDES[i])] = { ...spec, ...shared, title: `${name}: ${spec.title}` };
    });
  }
  return specs;
}
