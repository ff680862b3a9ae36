// One study: what was decided, whether the promise held, and what is open.

import { arms, bias, groups } from "./arms.js";
import { open } from "./open.js";
import { comparing } from "./compare.js";
import { forced, promise, reward } from "./charts_section.js";
import { decisionsSection } from "./decisions.js";
import { el } from "./dom.js";
import { count, counted, number, since, time } from "./format.js";
import { promises } from "./promises.js";
import { record } from "./record.js";
import { STORE, command, headline, promiseWords } from "./labels.js";

/** view: {state, series, forced, open, page, ui}; parts that are not there yet are null. */
export function study(view) {
  const { state } = view;
  const before = [promises, arms];
  const begun = [
    record,
    promise,
    promises,
    arms,
    reward,
    forced,
    open,
    bias,
    groups,
    decisionsSection,
    comparing,
  ];
  const parts = (state.decisions > 0 ? begun : before).map((part) => part(view)).filter(Boolean);
  return [
    el(
      "nav",
      { class: "crumbs", "aria-label": "Where you are", "data-key": "crumbs" },
      el("a", { href: "#studies" }, "Studies"),
      el("span", { "aria-hidden": "true" }, " / "),
      state.name,
    ),
    el(
      "header",
      { class: "head", "data-key": "head" },
      el("h1", { tabindex: "-1" }, state.name),
      el("p", { class: "headline", id: "headline" }, headline(state)),
      el(
        "p",
        { class: "meta" },
        el("code", {}, state.policy),
        " · created ",
        time(state.created),
        last(view.series),
        " · ",
        counted(state.told, "report"),
        " · ",
        count(state.forgotten),
        " forgotten",
      ),
      figures(state),
    ),
    notes(state),
    state.decisions === 0 ? beginning(state) : null,
    el(
      "nav",
      { class: "parts", "aria-label": "On this page", "data-key": "parts" },
      el(
        "ul",
        {},
        parts.map((part) =>
          el(
            "li",
            {},
            el("a", { href: `#study=${encodeURIComponent(state.name)}&part=${part.id}` }, part.dataset.short),
          ),
        ),
      ),
    ),
    parts,
  ];
}

function notes(state) {
  if (!state.notes?.length) return null;
  return el(
    "ul",
    { class: "problem", "data-key": "notes" },
    state.notes.map((note) => el("li", {}, note)),
  );
}

function last(series) {
  return series?.at?.length ? [" · last decision ", since(series.at.at(-1))] : null;
}

function figures(state) {
  const { mark, word } = promiseWords(state.promise);
  const items = [
    ["Decisions", count(state.decisions)],
    ["Promise", `${mark} ${word}`],
    ["Open tickets", count(state.open)],
    ["Mean reward", number(state.reward?.mean)],
  ];
  return el(
    "dl",
    { class: "figures" },
    items.map(([name, value]) =>
      el("div", { class: value.startsWith("▲") ? "bad" : null }, el("dt", {}, name), el("dd", {}, value)),
    ),
  );
}

function beginning(state) {
  return el(
    "section",
    { class: "sheet empty", "data-key": "beginning" },
    el("p", {}, "There is no decision yet. Ask for the first one from a shell:"),
    el("pre", {}, el("code", {}, command("ask", state))),
    el("p", { class: "hint" }, `${STORE}; or over HTTP with a key of the role decide:`),
    el(
      "pre",
      {},
      el(
        "code",
        {},
        `curl -X POST -H "Authorization: Bearer KEY" ${new URL(`studies/${encodeURIComponent(state.name)}/ask`, document.baseURI.split("#")[0])}`,
      ),
    ),
  );
}
