// The page: which study the address names, what was read of it, and what the user does.

import { Service } from "./api.js";
import { actionsOn } from "./actions.js";
import { chartsOf } from "./charts.js";
import { chartsOfBoth, comparison } from "./compare.js";
import { dialog, openDecision } from "./dialog.js";
import { el, fill } from "./dom.js";
import { drawCharts } from "./hosts.js";
import { keyForm, studyList } from "./list.js";
import { fresh, readPair, readStudy } from "./reading.js";
import { study } from "./study.js";
import { reachable } from "./table.js";
import { Watch } from "./watch.js";
import { headline } from "./labels.js";

const STORED = "evenhand.key";
const ANEW = " It was good until now: the service may have started anew, and printed another address of this page.";
const content = document.getElementById("content");

let service = null;
let problem = null;
let arrived = false;
let route = { study: null, part: null, decision: null, with: null };
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
  if (key && route.decision) toDecision(null);
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
  route = Object.fromEntries(["study", "part", "decision", "with"].map((name) => [name, address.get(name)]));
  const moved = route.study !== before.study || route.with !== before.with;
  if (moved) {
    shown = fresh();
    if (arrived) content.dataset.moved = "";
    render();
    watch.now();
  }
  arrived = true;
  if (route.part && !moved) toPart();
  if (route.decision !== before.decision || moved) toDecision(before.decision);
}

function toPart() {
  const heading = document.getElementById(`${route.part}-title`);
  heading?.focus({ preventScroll: true });
  heading?.closest("section").scrollIntoView();
}

/** One turn of the watch. */
async function read() {
  const [from, at, { study: name, with: other }] = [service, shown, route];
  if (!name) {
    const { studies } = await from.studies();
    Object.assign(at, { studies, missing: null });
  } else if (other) {
    await readPair(from, [name, other], at);
  } else {
    const listed = document.querySelector("#decisions tbody");
    await readStudy(from, name, at, () => dialog.open || Boolean(listed?.contains(document.activeElement)));
  }
  if (at === shown) render();
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
  } else if (route.with && shown.other?.state) {
    fill(content, el("div", { class: "study", "data-key": `${route.study} with ${route.with}` }, comparison(shown)));
    document.title = `${shown.state.name} and ${shown.other.state.name} · evenhand`;
    drawCharts(chartsOfBoth(shown), acting.zoom);
  } else if (route.study && !route.with && shown.state) {
    const elapsed = (performance.now() - shown.at) / 1000;
    fill(content, el("div", { class: "study", "data-key": `study ${route.study}` }, study({ ...shown, elapsed })));
    document.title = `${shown.state.name}: ${headline(shown.state)} evenhand`;
    if (shown.series) drawCharts(chartsOf(shown), acting.zoom);
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

const toDecision = (before) => openDecision(service, route, shown, content, before, () => route);

const acting = actionsOn({
  get shown() {
    return shown;
  },
  get service() {
    return service;
  },
  get route() {
    return route;
  },
  watch,
  useKey,
  render,
});

function act(event, target) {
  const action = target?.dataset.action;
  if (!action) return;
  event.preventDefault();
  acting.actions[action](target);
  if (service) render();
}

for (const root of [content, dialog]) {
  root.addEventListener("click", (event) => act(event, event.target.closest("button[data-action]")));
  root.addEventListener("submit", (event) => act(event, event.target.closest("form[data-action]")));
}
content.addEventListener("change", (event) => {
  act(event, event.target.closest("input[data-action], select[data-action], form[data-action=filters]"));
});
content.addEventListener("input", (event) => act(event, event.target.closest("input[type=search][data-action]")));
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

if (!location.hash.includes("key=")) useKey(stored());
follow();
