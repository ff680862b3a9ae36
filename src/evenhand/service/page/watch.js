// Asking again and again: live, paused, or waiting for a server that does not answer.

import { Refusal, Unreachable } from "./api.js";
import { clockTime } from "./format.js";

const EVERY = 2000;
const LATE = 5000;

export class Watch {
  /** `turn()` reads what is new; `refused(error)` deals with a refusal; the page's own elements tell how it goes. */
  constructor(turn, refused) {
    this.turn = turn;
    this.refused = refused;
    this.stopped = true;
    this.held = false;
    this.lost = null;
    this.latest = null;
    this.timer = null;
    this.clock = null;
    this.asked = null;
    this.due = null;
    this.busy = false;
    this.button = document.getElementById("pause");
    this.button.addEventListener("click", () => (this.held ? this.resume() : this.pause()));
    document.addEventListener("visibilitychange", () => (document.hidden ? this.say() : this.now()));
    window.addEventListener("online", () => this.now());
  }

  start() {
    this.stopped = false;
    this.clock ??= setInterval(() => this.say(), 1000);
    this.now();
  }

  stop() {
    this.stopped = true;
    this.held = false;
    this.lost = null;
    this.latest = null;
    clearTimeout(this.timer);
    clearInterval(this.clock);
    this.clock = null;
    this.say();
  }

  pause() {
    this.held = true;
    clearTimeout(this.timer);
    this.say();
  }

  resume() {
    this.held = false;
    this.now();
  }

  /** Read at once, paused or not: the user asked. Afterwards every two seconds, or less often when answers are slow. */
  async now() {
    clearTimeout(this.timer);
    if (this.stopped) return;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    this.asked = moment();
    let wait = EVERY;
    try {
      await this.turn();
      this.lost = null;
      this.latest = this.asked;
    } catch (error) {
      if (error instanceof Unreachable) this.lost ??= new Date();
      else if (error instanceof Refusal && error.status === 429) wait = Math.max(wait, 1000 * (error.wait ?? 5));
      else if (error instanceof Refusal) this.refused(error);
      else throw error;
    } finally {
      this.busy = false;
      this.next(Math.max(wait, 3 * (performance.now() - this.asked.tick)));
      this.say();
    }
  }

  next(wait) {
    if (this.again) {
      this.again = false;
      this.now();
    } else if (!this.stopped && !this.held && !document.hidden) {
      this.due = new Date(Date.now() + wait);
      this.timer = setTimeout(() => this.now(), wait);
    }
  }

  say() {
    const state = document.getElementById("state");
    const [kind, words] = this.words();
    const status = document.getElementById("status");
    status.dataset.state = kind;
    if (state.textContent !== words) state.textContent = words;
    const asOf = kind === "live" || kind === "paused" ? "as of" : "· numbers as of";
    document.getElementById("as-of").textContent = this.latest ? `${asOf} ${clockTime(this.latest.date)}` : "";
    this.button.hidden = kind === "off";
    this.button.textContent = this.held ? "Resume" : "Pause";
  }

  words() {
    if (this.stopped) return ["off", ""];
    if (this.lost) return ["lost", `Connection lost since ${clockTime(this.lost)}; trying again`];
    if (this.held) return ["paused", "Paused"];
    if (document.hidden) return ["paused", "Paused while hidden"];
    const known = this.latest ?? this.asked;
    if (performance.now() - known.tick > LATE) {
      if (this.busy) return ["late", `Waiting for an answer since ${clockTime(this.asked.date)}`];
      return ["late", `Asking again at ${clockTime(this.due)}`];
    }
    return this.latest ? ["live", "Live"] : ["wait", "Reading"];
  }
}

/** Now, as people read it and as it is measured. */
const moment = () => ({ date: new Date(), tick: performance.now() });
