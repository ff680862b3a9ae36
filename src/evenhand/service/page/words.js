// What the numbers mean, in plain words.

import { el } from "./dom.js";
import { count, counted, number } from "./format.js";

/** The state of a promise as {mark, word, text}: a sign, one word, and a clause that goes on from "the promise". */
export function promiseWords(promise) {
  if (!promise) return { mark: "○", word: "none", text: "this policy promises no shares" };
  const { kept, when, worst_arm: arm, worst_round: round, worst_shortfall: worst } = promise;
  if (kept === true) return { mark: "✓", word: "kept", text: `the promise was kept ${when}` };
  if (kept === false) {
    const where =
      round === null || round === undefined
        ? ""
        : ` (worst at round ${count(round)}: ${arm} was ${number(worst)} behind)`;
    return { mark: "▲", word: "broken", text: `the promise was broken${where}` };
  }
  return { mark: "○", word: "not due yet", text: `the promise is due ${when}` };
}

/** One sentence for one study. */
export function headline(state) {
  const alerts = state.alerts.filter((alert) => !alert.cleared).length;
  const begun = state.decisions > 0;
  return [
    begun ? counted(state.decisions, "decision") : "No decisions yet",
    begun || !state.promise ? promiseWords(state.promise).text : null,
    state.open === 0 ? "no ticket is open" : `${counted(state.open, "ticket")} open`,
    alerts === 0 ? "no alerts" : counted(alerts, "alert"),
  ]
    .filter(Boolean)
    .join("; ")
    .concat(".");
}

/** A shell command about a study's own file, its name quoted where a shell wants that. */
export function command(verb, { name }, rest = "") {
  const file = `${name}.evenhand`;
  const quoted = /^[\w.@%+:,/-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
  return ["evenhand", verb, quoted, rest].filter(Boolean).join(" ");
}

/** A badge that reads without colour: a sign and a word. */
export function badge(kind, mark, word) {
  return el("span", { class: `badge ${kind}` }, el("span", { "aria-hidden": "true" }, `${mark} `), word);
}

/** The badge of a study in the list, where the promise is "kept", "broken" or null. */
export function promiseBadge(promise) {
  if (promise === "kept") return badge("good", "✓", "kept");
  if (promise === "broken") return badge("bad", "▲", "broken");
  return badge("none", "–", "none");
}
