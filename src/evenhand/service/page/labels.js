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
        : ` (worst at round ${count(round)}: ${brief(arm)} was ${number(worst)} behind)`;
    return { mark: "▲", word: "broken", text: `the promise was broken${where}` };
  }
  return { mark: "○", word: "not due yet", text: `the promise is due ${when}` };
}

/** One sentence for one study. */
export function headline(state) {
  const begun = state.decisions > 0;
  return [
    begun ? counted(state.decisions, "decision") : "No decisions yet",
    begun || !state.promise ? promiseWords(state.promise).text : null,
    state.open === 0 ? "no ticket is open" : `${counted(state.open, "ticket")} open`,
  ]
    .filter(Boolean)
    .join("; ")
    .concat(".");
}

const LONG = 40;

/** A label as text, cut where it is very long. */
export function brief(label) {
  const text = [label].flat().join(" and ");
  return text.length <= 2 * LONG ? text : `${text.slice(0, 2 * LONG - 1)}…`;
}

/** A label, or a dash where there is none; a long one takes at most three lines, and all of it is said on pointing. */
export function named(label) {
  const text = String(label ?? "–");
  return text.length <= LONG ? text : el("span", { class: "long", title: text }, text);
}

/** A command for a study, and what its words in capitals stand for. */
export const command = (verb, { name }, rest = "") => `evenhand ${verb} STORE --study ${name} ${rest}`.trimEnd();
export const STORE = "STORE is the file or address that is being served";

/** How the shell tells what a decision of this study brought. */
export const told = ({ feedback }) => FEEDBACK[feedback] ?? "REWARD";
const FEEDBACK = { rows: "--rows FILE --label COLUMN", samples: "--samples FILE" };

/** What decisions are about: arms, and groups where the next sample is chosen. */
export const noun = ({ feedback }) => (feedback === "rows" ? "group" : "arm");

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
