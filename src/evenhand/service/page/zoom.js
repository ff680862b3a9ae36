// Which rounds are in view: the arithmetic of zooming, and the rounds of a zoom read closely.

import { Unreachable } from "./api.js";

const LEAST = 4;
const POINTS = 800;
const NEARLY = 0.98;

/** {first, last} within 1 and `total`, at least LEAST rounds; null where that is all of them, or nearly. */
export function within(first, last, total) {
  const size = Math.min(total, Math.max(LEAST, Math.round(last) - Math.round(first) + 1));
  const from = Math.min(Math.max(1, Math.round(first)), total - size + 1);
  return size > NEARLY * total ? null : { first: from, last: from + size - 1 };
}

/** The view made `factor` times as wide, with the round `centre` where it was. */
export function scaled(zoom, total, factor, centre = null) {
  const { first, last } = zoom ?? { first: 1, last: total };
  const at = centre ?? (first + last) / 2;
  return within(at - (at - first) * factor, at + (last - at) * factor, total);
}

/** The view moved by `part` of its width. */
export function moved({ first, last }, total, part) {
  const by = Math.round((last - first + 1) * part);
  return within(first + by, last + by, total);
}

/** The part of a series that a view shows, with a point beyond each end where there is one. */
export function cut(series, zoom) {
  if (!zoom) return series;
  const { round } = series;
  const from = Math.max(
    0,
    round.findLastIndex((one) => one <= zoom.first),
  );
  const after = round.findIndex((one) => one >= zoom.last);
  const part = (row) => row?.slice(from, after < 0 ? undefined : after + 1) ?? null;
  const rows = (names, of) => Object.fromEntries(names.map((name) => [name, of(series[name])]));
  return {
    ...series,
    ...rows(["round", "at", "reward_mean", "reward_recent", "forced"], part),
    ...rows(["shares", "shortfall"], (table) => table?.map(part) ?? null),
  };
}

/** Whether a series has every round of a view already. */
const whole = ({ round }, { first, last }) =>
  round.filter((one) => one >= first && one <= last).length === last - first + 1;

/** Read the rounds of `zoom` closely: `done({zoom, series, refused})` is called as soon as something is known. */
export async function closeUp(service, name, series, zoom, done) {
  if (whole(series, zoom)) {
    done({ zoom, series });
    return;
  }
  done({ zoom, series: null });
  const beyond = { first: Math.max(1, zoom.first - 1), last: zoom.last + 1, points: POINTS };
  try {
    done({ zoom, series: await service.closeUp(name, beyond) });
  } catch (error) {
    done({ zoom, series: null, refused: error instanceof Unreachable ? "no answer" : error.message });
  }
}
