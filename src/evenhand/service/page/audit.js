// A person audits pairs of people: two side by side, a key for each answer, and each answer is saved at once.

import { el } from "./dom.js";
import { KEY, Session, button, onKey } from "./session.js";

const WORDS = { study: "Study", annotator: "Your name, if several people audit", key: KEY };
const TASK =
  "You see two people at a time whose chances of being chosen differ, whichever is higher. Say unfair if the two are so " +
  "alike in what counts that this difference is wrong, and acceptable if it is not.";
const session = new Session("audit", WORDS, advance, TASK);

let task = null;
let done = 0;

async function advance() {
  task = (await session.ask()) ?? null;
  if (task) show();
}

const tell = (answer, counts) =>
  session.once(async () => {
    await session.tell(task, answer);
    done += counts;
    await advance();
  });

const ACTS = {
  u: () => tell("unfair", 1),
  a: () => tell("acceptable", 1),
  n: () => tell(null, 0),
  w: () => tell("withdraw", -1),
};

function show() {
  session.say(done, "answered");
  const [one, other] = task.item.split("-");
  const rows = Object.entries(task.people).map(([name, [mine, theirs]]) =>
    el(
      "tr",
      { class: mine === theirs ? null : "differs" },
      el("th", { scope: "row" }, name),
      el("td", {}, mine),
      el("td", {}, theirs),
    ),
  );
  session.content.replaceChildren(
    el("h1", { class: "question" }, `Their chances differ by ${(100 * task.gap).toFixed(1)} percentage points. Is that unfair?`),
    el(
      "table",
      { class: "pair", id: "item", "data-item": task.item, "data-ticket": task.ticket },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("td", {}),
          el("th", { scope: "col" }, `row ${Number(one) + 1}`),
          el("th", { scope: "col" }, `row ${Number(other) + 1}`),
        ),
      ),
      el("tbody", {}, rows),
    ),
    session.task(),
    el("div", { class: "choices" }, button("unfair", "u", ACTS.u), button("acceptable", "a", ACTS.a)),
    el("div", { class: "quiet" }, button("not sure", "n", ACTS.n), button("withdraw my last answer", "w", ACTS.w)),
    el("p", { class: "why" }, task.reason),
  );
}

onKey((key) => {
  if (task && Object.hasOwn(ACTS, key)) ACTS[key]();
});

session.start();
