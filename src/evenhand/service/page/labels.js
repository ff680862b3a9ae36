// What the numbers mean, in plain words.

import { el } from "./dom.js";
import { ago, count, counted, number, percent } from "./format.js";

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

const LONG = 40;

/** A label as text, cut where it is very long. */
export function brief(label) {
  const text = String(label);
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

/** What a monitor watches for, as a clause. */
export function watched({ metric, subject, threshold, window }) {
  const whom = subject === null || subject === undefined ? null : brief(subject);
  const since = typeof window === "number" ? window : null;
  switch (metric) {
    case "shortfall":
      return `${whom ?? "any arm"} is more than ${number(threshold)} behind its promised share`;
    case "drift":
      return `the share of ${whom ?? "any group"} changes by more than ${percent(threshold)}${since ? ` in ${counted(since, "decision")}` : ""}`;
    case "reward":
      return `the mean of ${since ? `the last ${counted(since, "reward")}` : "the last rewards"} is below ${number(threshold)}`;
    case "overdue":
      return `more than ${counted(threshold, "ticket")} open for over ${since ? ago(since) : "their time"}`;
    case "group-gap":
      return `the mean reward of ${whom ?? "any group"} is shown to differ from the others by more than ${number(threshold)}`;
    default:
      return `${metric} passes ${number(threshold)}`;
  }
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
