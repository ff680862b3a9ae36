// Many arms: found by name, sorted by what matters, and folded to those in danger.

import { el } from "./dom.js";
import { count } from "./format.js";
import { atCaps } from "./promised.js";

const MANY = 12;
const DANGER = 10;

export const manyArms = (arms) => arms.length > MANY;

/** Whether a label has the words that are looked for. */
export const known = (label, words) => String(label).toLowerCase().includes(words.trim().toLowerCase());

/** Which arms are shown: those that are found, and where nothing is looked for those nearest to a broken promise. */
export function shownArms({ arms, promise }, { find, all }) {
  if (find.trim()) return new Set(arms.filter(({ label }) => known(label, find)));
  if (all || !manyArms(arms)) return new Set(arms);
  const rank = ({ owed, decisions }) => owed ?? -decisions;
  const ranked = [...arms].sort((a, b) => rank(b) - rank(a));
  return new Set([...atCaps({ arms, promise }).slice(0, DANGER / 2), ...ranked].slice(0, DANGER));
}

/** What stands above the table of many arms; `sorts` are the names of the columns to sort by, if any. */
export function finder({ arms, promise }, ui, word, sorts, shown) {
  if (!manyArms(arms)) return null;
  const promised = arms.some(({ owed }) => typeof owed === "number");
  const danger = promised ? `the ${DANGER} furthest behind${promise?.caps?.length ? " or at their caps" : ""}` : `the ${DANGER} with the fewest decisions`;
  const found = ui.find.trim() ? `${count(shown.size)} found` : ui.all ? `all ${count(arms.length)}` : danger;
  return el(
    "div",
    { class: "filters finder", role: "search" },
    el(
      "label",
      {},
      `Find ${word}s `,
      el("input", { type: "search", "data-action": "find", value: ui.find, autocomplete: "off" }),
    ),
    sorts.length === 0
      ? null
      : el(
          "label",
          {},
          "Sort by ",
          el(
            "select",
            { "data-action": "sortBy" },
            ["", ...sorts].map((name) =>
              el(
                "option",
                { value: name, selected: name === (ui.sorted?.name ?? ""), "data-key": `option ${name}` },
                name === "" ? "the study's order" : name.toLowerCase(),
              ),
            ),
          ),
        ),
    el(
      "button",
      { type: "button", "data-action": "all", "aria-pressed": String(ui.all) },
      ui.all ? "Show those in danger" : `Show all ${count(arms.length)}`,
    ),
    el("span", { class: "hint", role: "status" }, `Shown: ${found}.`),
  );
}
