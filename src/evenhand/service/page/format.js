// Numbers and times as people read them. Times are local; the exact one, with its zone, is said on pointing.

import { el } from "./dom.js";

const whole = new Intl.NumberFormat("en");
const few = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const hundredths = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const percents = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const calendar = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const hour = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

const missing = (value) => value === null || value === undefined || Number.isNaN(value);
const signed = (text) => text.replace("-", "−");

export const count = (value) => (missing(value) ? "–" : signed(whole.format(value)));
export const percent = (value) => (missing(value) ? "–" : signed(percents.format(value)));

/** A number of any size in about four digits; two decimals from 0.1 to 1,000, so that columns line up. */
export function number(value) {
  if (missing(value)) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return signed(value.toExponential(2));
  if (size >= 1000) return signed(whole.format(Math.round(value)));
  if (size >= 100) return signed(few.format(value));
  return signed((size >= 0.1 || size === 0 ? hundredths : few).format(value));
}

/** Numbers on an axis, exact to the step between them. */
export function numberTick(value, step) {
  let digits = 0;
  while (digits < 8 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
  return signed(value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
}

export const percentTick = (value, step) => `${numberTick(100 * value, 100 * step)}%`;

/** The word as a heading begins it. */
export const title = (word) => word[0].toUpperCase() + word.slice(1);

/** "1 ticket", "3 tickets". */
export const counted = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

export function ago(seconds) {
  if (missing(seconds)) return "–";
  const steps = [
    [86400, "day"],
    [3600, "hour"],
    [60, "minute"],
  ];
  for (const [size, name] of steps) {
    if (seconds >= size) return counted(Math.floor(seconds / size), name);
  }
  return counted(Math.max(0, Math.floor(seconds)), "second");
}

export const clockTime = (date) => clock.format(date);

/** The local time to the second, with its zone. */
export function exactly(moment) {
  const text = exact.format(moment);
  return text.endsWith(ZONE) ? text : `${text} (${ZONE})`;
}

/** Today the clock alone, otherwise the day as well. */
export function when(moment) {
  const today = moment.toDateString() === new Date().toDateString();
  return today ? clock.format(moment) : `${calendar.format(moment)}, ${clock.format(moment)}`;
}

/** From one moment to another; the day is said once where it is the same. */
export function span(from, to) {
  const full = (moment) => `${calendar.format(moment)}, ${clock.format(moment)}`;
  return `${full(from)} to ${from.toDateString() === to.toDateString() ? clock.format(to) : full(to)}`;
}

/** The ticks of an axis of clock time, in seconds since 1970, exact to the step between them; days where they begin. */
export function clockTicks(seconds, step) {
  const form = step >= 86400 ? date : step >= 60 ? hour : clock;
  let before = null;
  return seconds.map((second) => {
    const moment = new Date(1000 * second);
    const day = date.format(moment);
    const text = form === date || day === before ? form.format(moment) : `${form.format(moment)}\n${day}`;
    before = day;
    return text;
  });
}

function element(iso, words) {
  const moment = new Date(iso);
  if (missing(iso) || Number.isNaN(moment.getTime())) return "–";
  return el("time", { datetime: iso, title: exactly(moment) }, words(moment));
}

/** A `time` element with the day alone. */
export const day = (iso) => element(iso, (moment) => calendar.format(moment));

/** A `time` element: today the clock alone, otherwise the day as well. */
export const time = (iso) => element(iso, when);

/** A `time` element that says how long ago it was. */
export const since = (iso) => element(iso, (moment) => `${ago((Date.now() - moment) / 1000)} ago`);
