// What is known of what is shown, and how it is brought up to date.

import { firstDrawn } from "./charts.js";

const PAGE = 25;
const OPEN = 50;
const OWED = "owed its share";

/** What is known of what is shown. */
export function fresh() {
  return {
    studies: null,
    names: null,
    state: null,
    series: null,
    forced: null,
    open: null,
    page: null,
    close: null,
    other: null,
    record: { busy: null, problem: null, form: "log", audit: null },
    at: 0,
    missing: null,
    wanted: 0,
    read: 0,
    ui: {
      chosen: null,
      sorted: null,
      arm: "",
      reason: "",
      open: "",
      pages: [],
      reasons: [],
      newer: false,
      allOpen: false,
      axis: "rounds",
      zoom: null,
      find: "",
      line: "",
      all: false,
    },
  };
}

/**
 * Read a study into `at`: its state each time, the rest when the log grew or the user asked for other decisions.
 * `busy()` says whether the user's hands are on the list of decisions.
 */
export async function readStudy(from, name, at, busy) {
  const { wanted } = at;
  const state = await from.study(name);
  readNames(from, at);
  if (at.state === null || at.state.sequence !== state.sequence || at.read !== wanted) {
    const [series, { forced }, open, page] = await Promise.all([
      from.series(name),
      from.forced(name),
      from.decisions(name, { open: true, order: "oldest", limit: OPEN }),
      from.decisions(name, filters(at.ui)),
    ]);
    Object.assign(at, { series, forced, open: open.decisions, at: performance.now() });
    at.ui.chosen ??= firstDrawn(series, state);
    const reasons = [...page.decisions, ...open.decisions]
      .map(({ reason }) => reason)
      .concat(forced.length ? [OWED] : []);
    at.ui.reasons = [...new Set([...at.ui.reasons, ...reasons.filter(named)])].sort();
    turnPage(at, page, wanted === at.read && busy());
    at.read = wanted;
  }
  at.state = state;
  at.missing = null;
}

/** Read which studies there are, without waiting for it: in a large store it takes a while. */
function readNames(from, at) {
  if (at.names !== null) return;
  at.names = [];
  from.studies().then(
    ({ studies }) => Object.assign(at, { names: studies.map(({ name }) => name) }),
    () => {},
  );
}

/** Read two studies that are compared into `at`, the second as `other`. */
export async function readPair(from, names, at) {
  const states = await Promise.all(names.map((name) => from.study(name)));
  const known = [at, at.other];
  if (known.some((one, i) => one?.state?.sequence !== states[i].sequence)) {
    const series = await Promise.all(names.map((name) => from.series(name)));
    Object.assign(at, { series: series[0], at: performance.now() });
    at.other = { ...at.other, series: series[1] };
    at.ui.chosen ??= firstDrawn(series[0], states[0]);
  }
  readNames(from, at);
  at.state = states[0];
  at.other.state = states[1];
  at.missing = null;
}

const filters = ({ arm, reason, open, pages }) => ({ before: pages.at(-1), limit: PAGE, arm, reason, open });

/** The list stands still under the user's hands. */
function turnPage(at, page, still) {
  at.ui.newer = Boolean(still && at.page && page.decisions[0]?.id !== at.page.decisions[0]?.id);
  if (!at.ui.newer) at.page = page;
}

/** Whether a reason is one of a few: one with a number in it is like no other, and no use as a filter. */
const named = (reason) => Boolean(reason) && !/\d/.test(reason);
