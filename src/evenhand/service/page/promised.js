// What is promised beside shares of single arms, found by arm: caps, windows, and sets of arms.

import { count } from "./format.js";

/** A label as a key: 1 and "1" are two arms. */
export const keyOf = (label) => `${typeof label} ${label}`;

/** The same of a set of arms. */
export const keyOfSet = (arms) => arms.map(keyOf).join();

/** What tells the cap of an arm by its label, null for none. */
export function capsOf(promise) {
  const caps = new Map((promise?.caps ?? []).map(({ label, cap }) => [keyOf(label), cap]));
  return (label) => caps.get(keyOf(label)) ?? null;
}

/** The arms that have at least 95 % of what their cap allows, the nearest to it first: a cap binds there. */
export function atCaps({ arms, promise }) {
  const capOf = capsOf(promise);
  const part = ({ label, share }) => (share ?? 0) / (capOf(label) ?? Infinity);
  return arms.filter((arm) => part(arm) >= 0.95).sort((a, b) => part(b) - part(a));
}

/** What tells the window of an arm or a set, "2 in any 25" rounds, by its row; null for none. */
export function windowsOf(promise) {
  const told = ({ plays, rounds }) => `${count(plays)} in any ${count(rounds)}`;
  const key = ({ arms, label }) => (arms ? keyOfSet(arms) : keyOf(label));
  const windows = new Map((promise?.windows ?? []).map((one) => [key(one), told(one)]));
  return (row) => windows.get(key(row)) ?? null;
}

/** The sets of arms that are promised something, as rows beside those of the arms. */
export function setsOf({ arms, promise, decisions }) {
  const plays = new Map(arms.map((arm) => [keyOf(arm.label), arm.decisions]));
  const windows = (promise?.windows ?? []).filter(({ arms }) => arms).map(({ arms }) => ({ arms, share: null }));
  const sets = new Map([...windows, ...(promise?.sets ?? [])].map((set) => [keyOfSet(set.arms), set]));
  return [...sets.values()].map(({ arms, share }) => {
    const had = arms.reduce((sum, arm) => sum + (plays.get(keyOf(arm)) ?? 0), 0);
    return { arms, decisions: had, share: decisions ? had / decisions : null, promised: share };
  });
}
