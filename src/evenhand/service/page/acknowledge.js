// Acknowledging an alert: a note and a key with the role admin, which is kept for as long as the tab is open.

import { Refusal } from "./api.js";
import { el } from "./dom.js";
import { STORE } from "./labels.js";

let given = "";

/** What the dialog shows: the alert's words, a note, and a key unless one is known. */
export function acknowledgement(id, words, problem = null) {
  return [
    el("header", {}, el("h2", { id: "decision-title", tabindex: "-1" }, "Acknowledge an alert"), close()),
    el("p", {}, `${words}. It stays raised until its value recovers; everybody sees that somebody takes care of it.`),
    problem ? el("p", { class: "problem", role: "alert" }, problem) : null,
    el(
      "form",
      { class: "stacked", "data-action": "acknowledge", "data-id": id },
      el("label", {}, "What is done about it ", el("input", { name: "note", maxlength: 200, autocomplete: "off" })),
      given
        ? null
        : [
            el(
              "label",
              {},
              "Key with the role admin ",
              el("input", { name: "key", type: "password", required: true, autocomplete: "off", spellcheck: "false" }),
            ),
            el(
              "p",
              { class: "hint" },
              el("code", {}, "evenhand keys STORE add --role admin"),
              ` makes one. ${STORE}. This tab keeps the key until it is closed.`,
            ),
          ],
      el("button", { type: "submit", class: "primary" }, "Acknowledge"),
    ),
  ];
}

/** Acknowledge alert `id` of a study; returns null, or why it was refused. */
export async function acknowledge(service, study, id, { note, key }) {
  const used = given || key.value.trim();
  try {
    await service.acknowledge(study, id, used, note.value.trim());
    given = used;
    return null;
  } catch (error) {
    given = "";
    return error instanceof Refusal ? error.message : "The server did not answer. Try again when it is back.";
  }
}

const close = () => el("button", { type: "button", "data-action": "close" }, "Close");
