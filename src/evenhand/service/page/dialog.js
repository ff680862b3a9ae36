// The dialog over the page: one decision.

import { Refusal, Unreachable } from "./api.js";
import { decisionDetails, decisionProblem } from "./decisions.js";
import { fill } from "./dom.js";
import { reachable } from "./table.js";

export const dialog = document.getElementById("decision");

/** Show `content` in the dialog, and bring the focus to its heading. */
function show(content) {
  fill(dialog, content);
  if (!dialog.open) dialog.showModal();
  reachable(dialog);
  dialog.scrollTop = 0;
  dialog.querySelector("h2").focus();
}

/** Show the decision that the address names; without one, close the dialog and go back to the row of `before`. */
export async function openDecision(service, { study: name, decision: id }, shown, content, before, now) {
  if (!service) return;
  if (!id) {
    if (dialog.open) dialog.close();
    if (before) content.querySelector(`#decisions tr[data-key="${CSS.escape(before)}"] a`)?.focus();
    return;
  }
  let found;
  try {
    const decision = await service.decision(name, id);
    const state = shown.state ?? (await service.study(name));
    if (now().decision !== id) return;
    found = decisionDetails(decision, state);
  } catch (error) {
    if (error instanceof Refusal) found = decisionProblem(error.message);
    else if (error instanceof Unreachable)
      found = decisionProblem("The server did not answer. Try again when it is back.");
    else throw error;
  }
  show(found);
}
