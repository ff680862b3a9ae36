// The log itself: downloaded as a file, and verified from its start.

import { Refusal } from "./api.js";
import { el } from "./dom.js";
import { count, counted, number, time } from "./format.js";
import { brief } from "./labels.js";
import { section } from "./section.js";

const FORMATS = { csv: "CSV", parquet: "Parquet", arrow: "Arrow", json: "JSON" };
const FORMS = { log: "every decision", bandit: "for off-policy evaluation" };

export function record({ state, record: { busy, problem, form, audit } }) {
  return section(
    "record",
    "Log",
    "The log",
    el(
      "div",
      { class: "beside" },
      el(
        "div",
        {},
        el("h3", {}, "Audit"),
        el(
          "p",
          { class: "hint" },
          "Reads the whole log from its start: is it complete and unchanged, does the policy decide the same again, and was the promise kept at every round?",
        ),
        auditing(state, audit),
      ),
      el(
        "div",
        {},
        el("h3", {}, "Download"),
        el("p", { class: "hint" }, "A row for each decision, with its reason, its reward and its times."),
        downloads(form, busy),
        problem ? el("p", { class: "problem", role: "alert" }, problem) : null,
      ),
    ),
  );
}

function downloads(form, busy) {
  return el(
    "div",
    { class: "filters" },
    el(
      "label",
      {},
      "Contents ",
      el(
        "select",
        { "data-action": "form" },
        Object.entries(FORMS).map(([name, words]) => el("option", { value: name, selected: name === form }, words)),
      ),
    ),
    Object.entries(FORMATS).map(([format, name]) =>
      el(
        "button",
        { type: "button", "data-action": "download", "data-format": format, disabled: Boolean(busy) },
        name,
      ),
    ),
    el("span", { class: "hint", role: "status" }, busy ? `Preparing ${FORMATS[busy]} …` : ""),
  );
}

function auditing(state, audit) {
  const running = audit?.began !== undefined;
  return [
    el(
      "p",
      {},
      el(
        "button",
        { type: "button", "data-action": "audit", disabled: running },
        audit?.found ? "Audit again" : "Audit the whole log",
      ),
    ),
    el(
      "div",
      { class: "verdict", role: "status" },
      running
        ? [
            el("progress", { "aria-label": "Audit" }),
            ` Checking ${counted(state.sequence, "entry", "entries")}; ${counted(audit.seconds, "second")} so far.`,
          ]
        : null,
      audit?.refused ? el("p", { class: "problem" }, audit.refused) : null,
      audit?.found ? verdict(audit.found, audit.at) : null,
    ),
  ];
}

function verdict(found, at) {
  const lines = [
    `${counted(found.entries, "entry", "entries")} were read: ${counted(found.decisions, "decision")}, ${counted(found.told, "report")}, ${count(found.forgotten)} forgotten, ${counted(found.open, "open ticket")}.`,
    found.ok ? "No entry is missing or changed, and the policy decides the same again." : null,
    promised(found),
    ...(found.notes ?? []),
  ].filter(Boolean);
  return [
    el(
      "p",
      { class: found.ok ? "headline sound" : "headline unsound" },
      el("span", { "aria-hidden": "true" }, found.ok ? "✓ " : "▲ "),
      found.ok ? "The log is sound." : `The audit found ${counted(found.problems.length, "problem")}.`,
    ),
    found.ok
      ? null
      : el(
          "ul",
          {},
          found.problems.map((problem) => el("li", {}, problem)),
        ),
    el(
      "ul",
      {},
      lines.map((line) => el("li", {}, line)),
    ),
    el(
      "p",
      { class: "hint" },
      "Audited at ",
      time(at),
      found.digest ? ["; digest of the last entry ", el("code", {}, found.digest)] : null,
      ".",
    ),
  ];
}

function promised({
  promise,
  promise_kept: kept,
  worst_shortfall: worst,
  worst_arm: arm,
  worst_round: round,
  ...rest
}) {
  if (!promise) return "The policy makes no promise that a log can show.";
  if (kept === null) return `The promise is due ${promise}; it is not due yet.`;
  const most =
    typeof worst === "number" && round
      ? `; the largest shortfall was ${number(worst)}, of ${brief(arm)} at round ${count(round)}`
      : "";
  if (kept) return `The promise was kept ${promise}${most}.`;
  return `The promise was broken in ${counted(rest.rounds_in_violation, "round")}${most}.`;
}

/** Run the audit; `tell(audit)` is called with what is known each second, and at the end. */
export async function runAudit(service, name, tell) {
  const began = performance.now();
  const going = () => tell({ began, seconds: Math.floor((performance.now() - began) / 1000) });
  going();
  const clock = setInterval(going, 1000);
  try {
    const found = await service.audit(name);
    tell({ found, at: new Date().toISOString() });
  } catch (error) {
    tell({ refused: words(error) });
  } finally {
    clearInterval(clock);
  }
}

/** Fetch the log and save it as a file; returns null, or why it could not be had. */
export async function download(service, name, format, form) {
  try {
    const { blob, name: file } = await service.history(name, format, form);
    save(blob, file);
    return null;
  } catch (error) {
    return words(error);
  }
}

const words = (error) =>
  error instanceof Refusal
    ? `${error.name}: ${error.message}`
    : "The server did not answer. Try again when it is back.";

/** Let the browser save `blob` as a file. */
export function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
