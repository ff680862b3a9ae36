// A person labels items, one after another: a key on the keyboard for each label, and each answer is saved at once.

import { el } from "./dom.js";
import { KEY, Session, button, onKey } from "./session.js";

const PICTURE = /^data:image\/|^(https?:|\/|\.)\S*$|^\S+\.(png|jpe?g|gif|webp|svg)$/i;
const WORDS = { study: "Study", annotator: "Your name, if several people label", key: KEY };
const TASK =
  "You see one item at a time; choose the label that fits it. Skip what you are not sure about, and reject what nobody " +
  "could label.";
const session = new Session("label", WORDS, advance, TASK);

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
  const keys = keysOf(task.choices);
  const choices = task.choices.map((label, index) => button(label, keys[index], () => tell(label)));
  session.content.replaceChildren(
    el("section", { class: "item", id: "item", "data-item": task.item }, shown),
    session.task(),
    choices.length ? el("div", { class: "choices" }, choices) : typed(),
    el(
      "div",
      { class: "quiet" },
      button("reject: nobody can label it", "r", () => tell(null)),
      button("skip: leave it open", "s", () => session.next()),
    ),
  );
}

/** The key of each label: its number, or its own digit where labels such as 0 and 1 would be taken for numbers. */
function keysOf(choices) {
  const numbers = choices.map((_, index) => (index < 9 ? String(index + 1) : null));
  const texts = choices.map(String);
  const confused = texts.some((text, index) => numbers.includes(text) && text !== numbers[index]);
  return confused ? texts.map((text) => (/^\d$/.test(text) ? text : null)) : numbers;
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
  const index = keysOf(task.choices).indexOf(key);
  if (index >= 0) tell(task.choices[index]);
  else if (key === "r") tell(null);
  else if (key === "s") session.next();
});

session.start();
