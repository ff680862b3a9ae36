// A person labels items, one after another: a key on the keyboard for each label, and each answer is saved at once.

import { el } from "./dom.js";

const STORED = "evenhand.label";
const PICTURE = /^data:image\/|^(https?:|\/|\.)\S*$|^\S+\.(png|jpe?g|gif|webp|svg)$/i;
const PATIENCE = 15_000;
const content = document.getElementById("content");
const state = document.getElementById("state");

let settings = { key: "", study: "", annotator: "" };
let task = null;
let done = 0;
let busy = false;

function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(STORED)) ?? {};
  } catch {
    return {};
  }
}

function remember() {
  try {
    sessionStorage.setItem(STORED, JSON.stringify(settings));
  } catch {
    // A browser that keeps nothing: the settings last as long as the tab.
  }
}

async function post(action, body) {
  let answer;
  try {
    answer = await fetch(`studies/${encodeURIComponent(settings.study)}/${action}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${settings.key}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE),
    });
  } catch {
    throw new Error("The service does not answer. Nothing is lost; try again.");
  }
  const given = await answer.json().catch(() => null);
  if (answer.ok) return given;
  throw new Error(given?.error?.message ?? `${answer.status} ${answer.statusText}`);
}

const who = () => (settings.annotator ? { annotator: settings.annotator } : {});

/** Do one thing at a time; say what is wrong, and leave the item where it is. */
async function once(work) {
  if (busy) return;
  busy = true;
  try {
    await work();
  } catch (problem) {
    state.textContent = problem.message;
  } finally {
    busy = false;
  }
}

const next = () => once(advance);

async function advance() {
  try {
    task = await post("ask", who());
  } catch (problem) {
    task = null;
    content.replaceChildren(el("p", { id: "end" }, problem.message), begin());
    return;
  }
  show();
}

const tell = (label) =>
  once(async () => {
    await post("tell", { ticket: task.ticket, label, ...who() });
    if (label !== null) done += 1;
    await advance();
  });

function show() {
  state.textContent = `${done} labelled · ${settings.study}`;
  const shown = PICTURE.test(task.content)
    ? el("img", { src: task.content, alt: `item ${task.item}` })
    : task.content;
  const choices = task.choices.map((label, index) => button(label, index < 9 ? String(index + 1) : null, () => tell(label)));
  content.replaceChildren(
    el("section", { class: "item", id: "item", "data-item": task.item }, shown),
    choices.length ? el("div", { class: "choices" }, choices) : typed(),
    el("div", { class: "quiet" }, button("reject: nobody can label it", "r", () => tell(null)), button("skip: leave it open", "s", next)),
  );
}

function button(label, key, act) {
  const made = el("button", { type: "button", "data-label": label }, key ? el("kbd", {}, key) : null, String(label));
  made.addEventListener("click", act);
  return made;
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

function begin() {
  const field = (name, words, more = {}) =>
    el("label", {}, `${words} `, el("input", { name, value: settings[name], autocomplete: "off", ...more }));
  const form = el(
    "form",
    { class: "begin" },
    field("study", "Study", { required: true }),
    field("annotator", "Your name, if several people label"),
    field("key", "Key (its role is both: evenhand keys STORE add --role both)", { type: "password", required: true }),
    el("button", {}, "Begin"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    settings = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
    remember();
    next();
  });
  return form;
}

document.addEventListener("keydown", (event) => {
  if (!task || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
  const number = Number(event.key);
  if (number >= 1 && number <= task.choices.length) tell(task.choices[number - 1]);
  else if (event.key === "r") tell(null);
  else if (event.key === "s") next();
});

const address = new URLSearchParams(location.hash.slice(1));
settings = { ...settings, ...remembered(), ...Object.fromEntries(address) };
remember();
history.replaceState(null, "", location.pathname);
if (settings.key && settings.study) next();
else content.replaceChildren(begin());
