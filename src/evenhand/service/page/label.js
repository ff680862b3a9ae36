// A person labels items, one after another: a key on the keyboard for each label, and each answer is saved at once.

import { el } from "./dom.js";
import { KEY, Session, button, onKey } from "./session.js";

const PICTURE = /^data:image\/|^(https?:|\/|\.)\S*$|^\S+\.(png|jpe?g|gif|webp|svg)$/i;
const WORDS = { study: "Study", annotator: "Your name, if several people label", key: KEY };
const session = new Session("label", WORDS, advance);

let task = null;
let done = 0;

async function advance() {
  task = (await session.ask()) ?? null;
  if (task) show();
}

const tell = (label) =>
  session.once(async () => {
    await session.tell(task, label);
    if (label !== null) done += 1;
    await advance();
  });

function show() {
  session.say(done, "labelled");
  const shown = PICTURE.test(task.content) ? el("img", { src: task.content, alt: `item ${task.item}` }) : task.content;
  const choices = task.choices.map((label, index) =>
    button(label, index < 9 ? String(index + 1) : null, () => tell(label)),
  );
  session.content.replaceChildren(
    el("section", { class: "item", id: "item", "data-item": task.item }, shown),
    choices.length ? el("div", { class: "choices" }, choices) : typed(),
    el(
      "div",
      { class: "quiet" },
      button("reject: nobody can label it", "r", () => tell(null)),
      button("skip: leave it open", "s", () => session.next()),
    ),
  );
}

function typed() {
  const input = el("input", { name: "label", required: true, autocomplete: "off", "aria-label": "label" });
  const form = el("form", { class: "other" }, input, el("button", {}, "label"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = input.value.trim();
    if (value) tell(/^-?\d{1,15}$/.test(value) ? Number(value) : value);
  });
  return form;
}

onKey((key) => {
  if (!task) return;
  const number = Number(key);
  if (number >= 1 && number <= task.choices.length) tell(task.choices[number - 1]);
  else if (key === "r") tell(null);
  else if (key === "s") session.next();
});

session.start();
