// What the pages for people who answer share: who they are, one request at a time, and buttons with keys.

import { el } from "./dom.js";
import { time } from "./format.js";

const PATIENCE = 15_000;
const SLOW = 2_000;

/**
 * A person's session on a page: `advance` shows what comes next, `words` name the fields of the form, and `work` says
 * in two sentences what the person is to do.
 *
 * The settings (study, annotator, key) come from the address, or from an earlier visit in this tab.
 */
export class Session {
  constructor(name, words, advance, work) {
    this.stored = `evenhand.${name}`;
    this.words = words;
    this.advance = advance;
    this.work = work;
    this.content = document.getElementById("content");
    this.state = document.getElementById("state");
    this.busy = false;
    this.began = new Date();
    this.settings = { key: "", study: "", annotator: "" };
  }

  start() {
    const address = new URLSearchParams(location.hash.slice(1));
    this.settings = { ...this.settings, ...this.remembered(), ...Object.fromEntries(address) };
    this.remember();
    history.replaceState(null, "", location.pathname);
    if (this.settings.key && this.settings.study) this.next();
    else this.content.replaceChildren(this.form());
  }

  remembered() {
    try {
      return JSON.parse(sessionStorage.getItem(this.stored)) ?? {};
    } catch {
      return {};
    }
  }

  remember() {
    try {
      sessionStorage.setItem(this.stored, JSON.stringify(this.settings));
    } catch {
      // A browser that keeps nothing: the settings last as long as the tab.
    }
  }

  next() {
    return this.once(this.advance);
  }

  /** Do one thing at a time; say what is wrong, and leave what is shown where it is. */
  async once(work) {
    if (this.busy) return;
    this.busy = true;
    try {
      await work();
    } catch (problem) {
      this.state.textContent = problem.message;
    } finally {
      this.busy = false;
    }
  }

  /** Ask for what comes next; undefined where nothing does, which is said. */
  async ask() {
    const slow = setTimeout(() => (this.state.textContent = "One moment …"), SLOW);
    try {
      return await this.post("ask", this.who());
    } catch (problem) {
      const over = problem.name === "ExhaustedError";
      this.state.textContent = "";
      this.content.replaceChildren(
        ...(over ? [el("h1", {}, "Thank you. That was the last question.")] : []),
        el("p", { id: "end", class: over ? "why" : null }, problem.message),
        ...(over ? [] : [this.form()]),
      );
    } finally {
      clearTimeout(slow);
    }
  }

  /** What the person is to do, to stand beside each question. */
  task() {
    return el("p", { class: "task" }, this.work);
  }

  /** Say how many were answered, and since when. */
  say(done, answered) {
    const { about } = this.settings;
    this.state.replaceChildren(
      `${done} ${answered}${about ? ` of about ${about}` : ""} since `,
      time(this.began.toISOString()),
      ` · ${this.settings.study}`,
    );
  }

  tell(task, label) {
    return this.post("tell", { ticket: task.ticket, label, ...this.who() });
  }

  who() {
    return this.settings.annotator ? { annotator: this.settings.annotator } : {};
  }

  async post(action, body) {
    let answer;
    try {
      answer = await fetch(`studies/${encodeURIComponent(this.settings.study)}/${action}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${this.settings.key}`, "Content-Type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(PATIENCE),
      });
    } catch {
      throw new Error("The service does not answer. Nothing is lost; try again.");
    }
    const given = await answer.json().catch(() => null);
    if (answer.ok) return given;
    const problem = new Error(given?.error?.message ?? `${answer.status} ${answer.statusText}`);
    throw Object.assign(problem, { name: given?.error?.name ?? "Error" });
  }

  form() {
    const field = (name, more = {}) =>
      el(
        "label",
        {},
        `${this.words[name]} `,
        el("input", { name, value: this.settings[name], autocomplete: "off", ...more }),
      );
    const form = el(
      "form",
      { class: "begin" },
      this.task(),
      field("study", { required: true }),
      field("annotator"),
      field("key", { type: "password", required: true }),
      el("button", {}, "Begin"),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.settings = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
      this.remember();
      this.next();
    });
    return form;
  }
}

export const KEY = "Key (its role is both: evenhand keys STORE add --role both)";

/** A button for an answer, with the key that does the same. */
export function button(label, key, act) {
  const made = el("button", { type: "button", "data-label": label }, key ? el("kbd", {}, key) : null, String(label));
  made.addEventListener("click", act);
  return made;
}

/** Do what `act` does for a key that is pressed outside any field. */
export function onKey(act) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    act(event.key);
  });
}
