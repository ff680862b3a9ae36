// The page: which study the address names, what was read of it, and what the user does.

import { Refusal, Service, Unreachable } from "./api.js";
import { Chart } from "./chart.js";
import { chartsOf, furthestBehind } from "./charts.js";
import { decisionDetails, decisionProblem } from "./decisions.js";
import { el, fill } from "./dom.js";
import { keyForm, studyList } from "./list.js";
import { fresh, readStudy } from "./reading.js";
import { study } from "./study.js";
import { reachable } from "./table.js";
import { Watch } from "./watch.js";
import { headline } from "./labels.js";

const STORED = "evenhand.key";
const ANEW = " It was good until now: the service may have started anew, and printed another address of this page.";
const content = document.getElementById("content");
const dialog = document.getElementById("decision");
const charts = new Map();

let service = null;
let problem = null;
let arrived = false;
let route = { study: null, part: null, decision: null };
let shown = fresh();
const watch = new Watch(read, refused);

function stored(value) {
  try {
    if (value === undefined) return localStorage.getItem(STORED);
    if (value === null) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, value);
  } catch {
    // A browser that keeps nothing: the key lasts as long as the tab.
  }
  return value ?? null;
}

function useKey(key) {
  problem = null;
  service = key ? new Service(key) : null;
  shown = fresh();
  stored(key);
  document.getElementById("forget").hidden = !key;
  if (key) watch.start();
  else watch.stop();
  if (!key && dialog.open) dialog.close();
  render();
  if (key && route.decision) openDecision(null);
}

function follow() {
  const address = new URLSearchParams(location.hash.slice(1));
  const key = address.get("key");
  if (key !== null) {
    address.delete("key");
    history.replaceState(null, "", `#${address.size ? address : "studies"}`);
    useKey(key.trim());
  }
  const before = route;
  route = { study: address.get("study"), part: address.get("part"), decision: address.get("decision") };
  const moved = route.study !== before.study;
  if (moved) {
    shown = fresh();
    if (arrived) content.dataset.moved = "";
    render();
    watch.now();
  }
  arrived = true;
  if (route.part && !moved) toPart();
  if (route.decision !== before.decision || moved) openDecision(before.decision);
}

function toPart() {
  const heading = document.getElementById(`${route.part}-title`);
  heading?.focus({ preventScroll: true });
  heading?.closest("section").scrollIntoView();
}

/** One turn of the watch. */
async function read() {
  const name = route.study;
  const from = service;
  if (!name) {
    const { studies } = await from.studies();
    if (from === service && name === route.study) Object.assign(shown, { studies, missing: null });
  } else {
    const listed = document.querySelector("#decisions tbody");
    await readStudy(from, name, shown, () => dialog.open || Boolean(listed?.contains(document.activeElement)));
  }
  if (from === service && name === route.study) render();
}

function refused(error) {
  if (error.status === 401 || error.status === 403) {
    const worked = shown.studies !== null || shown.state !== null;
    useKey(null);
    problem = `${error.message[0].toUpperCase()}${error.message.slice(1)}.${worked ? ANEW : ""}`;
  } else if (error.status === 404 && route.study) {
    shown.missing = error.message;
  } else {
    shown.missing = `${error.name}: ${error.message}`;
  }
  render();
}

/** Show what is known; a focus that is lost on the way goes to the heading of its section. */
function render() {
  const focused = document.activeElement;
  const part = focused.closest("section[id]")?.id;
  show();
  if (part && (document.activeElement !== focused || focused.disabled)) {
    document.getElementById(`${part}-title`)?.focus({ preventScroll: true });
  }
}

function show() {
  if (!service) {
    fill(content, keyForm(problem));
    document.title = "evenhand";
  } else if (shown.missing) {
    fill(
      content,
      el(
        "section",
        { class: "sheet narrow", "data-key": "missing" },
        el("h1", { tabindex: "-1" }, "Nothing to show here"),
        el("p", { class: "problem" }, shown.missing),
        el("p", {}, el("a", { href: "#studies" }, "All studies")),
      ),
    );
  } else if (route.study && shown.state) {
    const elapsed = (performance.now() - shown.at) / 1000;
    fill(content, el("div", { class: "study", "data-key": `study ${route.study}` }, study({ ...shown, elapsed })));
    document.title = `${shown.state.name}: ${headline(shown.state)} evenhand`;
    drawCharts();
  } else if (!route.study && shown.studies) {
    fill(content, el("div", { "data-key": "list" }, studyList(shown.studies)));
    document.title = "Studies · evenhand";
  } else {
    fill(content, el("p", { class: "hint", "data-key": "wait" }, "Reading …"));
  }
  reachable(content);
  arrive();
}

/** After a move to another view, the focus goes to its heading. */
function arrive() {
  const heading = content.querySelector("h1");
  if (!heading || content.dataset.moved === undefined) return;
  delete content.dataset.moved;
  heading.focus({ preventScroll: true });
  window.scrollTo(0, 0);
  if (route.part) toPart();
}

function drawCharts() {
  for (const [host, chart] of charts) {
    if (!host.isConnected) {
      chart.destroy();
      charts.delete(host);
    }
  }
  if (!shown.series) return;
  for (const [id, spec] of Object.entries(chartsOf(shown.series, shown.state, shown.ui.chosen))) {
    const host = document.getElementById(id);
    if (!host) continue;
    if (!charts.has(host)) charts.set(host, new Chart(host));
    charts.get(host).update(spec);
  }
}

async function openDecision(before) {
  const { study: name, decision: id } = route;
  if (!service) return;
  if (!id) {
    if (dialog.open) dialog.close();
    if (before) content.querySelector(`#decisions tr[data-key="${CSS.escape(before)}"] a`)?.focus();
    return;
  }
  try {
    const decision = await service.decision(name, id);
    const state = shown.state ?? (await service.study(name));
    if (route.decision !== id) return;
    fill(dialog, decisionDetails(decision, state));
  } catch (error) {
    if (error instanceof Refusal) fill(dialog, decisionProblem(error.message));
    else if (error instanceof Unreachable)
      fill(dialog, decisionProblem("The server did not answer. Try again when it is back."));
    else throw error;
  }
  if (!dialog.open) dialog.showModal();
  reachable(dialog);
  dialog.scrollTop = 0;
  dialog.querySelector("h2").focus();
}

const actions = {
  key: (target) => useKey(target.elements.key.value.trim()),
  sort: ({ dataset: { name } }) => {
    shown.ui.sorted = { name, down: shown.ui.sorted?.name !== name || !shown.ui.sorted.down };
  },
  choose: ({ dataset: { index }, checked }) => {
    const rest = shown.ui.chosen.filter((i) => i !== Number(index));
    shown.ui.chosen = checked ? [...rest, Number(index)] : rest;
  },
  furthest: () => {
    shown.ui.chosen = furthestBehind(shown.series, shown.state);
  },
  filters: (target) => {
    for (const name of ["arm", "reason", "open"]) shown.ui[name] = target.elements[name].value;
    turnTo([]);
  },
  newest: () => turnTo([]),
  newer: () => turnTo(shown.ui.pages.slice(0, -1)),
  older: () => turnTo([...shown.ui.pages, shown.page.next]),
  allOpen: () => {
    shown.ui.allOpen = !shown.ui.allOpen;
  },
  close: () => dialog.close(),
};

function turnTo(pages) {
  shown.ui.pages = pages;
  shown.wanted += 1;
  watch.now();
}

function act(event, target) {
  const action = target?.dataset.action;
  if (!action) return;
  event.preventDefault();
  actions[action](target);
  if (service) render();
}

for (const root of [content, dialog]) {
  root.addEventListener("click", (event) => act(event, event.target.closest("button[data-action]")));
}
content.addEventListener("submit", (event) => act(event, event.target.closest("form[data-action]")));
content.addEventListener("change", (event) => {
  const target = event.target.closest("input[data-action], form[data-action=filters]");
  if (target) act(event, target);
});
dialog.addEventListener("close", () => {
  if (route.decision) location.hash = `study=${encodeURIComponent(route.study)}`;
});
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  content.focus();
});
document.getElementById("forget").addEventListener("click", () => useKey(null));
window.addEventListener("hashchange", follow);
window.addEventListener("resize", () => reachable(content));

const redraw = () => charts.forEach((chart) => chart.draw());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
matchMedia("(forced-colors: active)").addEventListener("change", redraw);
for (const [event, printing] of [
  ["beforeprint", true],
  ["afterprint", false],
]) {
  window.addEventListener(event, () => {
    document.documentElement.toggleAttribute("data-print", printing);
    redraw();
  });
}

if (!location.hash.includes("key=")) useKey(stored());
follow();
