// What uPlot is told to draw beside its lines: levels, markers along the lines, and the name of each at its end.

import { marker } from "./marks.js";

const MARKERS = 7;
const FEW = 12;
const LINE_GAP = 15;
/** The dashes of what a line is promised, and of its cap. */
export const [LEAST, MOST] = [
  [1, 4],
  [9, 3, 1, 3],
];

/** Horizontal levels, under the lines. */
export function levels(plot, spec, { tones, ink }) {
  const { ctx, bbox } = plot;
  const level = (value, colour, dash, width) => {
    const y = plot.valToPos(value, "y", true);
    if (y < bbox.top - 1 || y > bbox.top + bbox.height + 1) return;
    ctx.strokeStyle = colour;
    ctx.lineWidth = width * devicePixelRatio;
    ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
  };
  ctx.save();
  spec.lines.forEach((line, i) => {
    if (typeof line.least === "number") level(line.least, tones[i], LEAST, 1.25);
    if (typeof line.most === "number") level(line.most, tones[i], MOST, 1.5);
  });
  const { limit } = spec;
  if (limit) level(limit.value, ink, [], 1.5);
  ctx.restore();
}

/** Markers along the lines and a name at the end of each, over the lines. */
export function marks(plot, spec, paint) {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  const along = plot.data[0];
  const shown = spec.lines.length > FEW ? 2 : MARKERS;
  const place = (line, at) => [plot.valToPos(along[at], "x", true), plot.valToPos(line.values[at], "y", true)];
  const ends = [];
  ctx.save();
  ctx.setLineDash([]);
  spec.lines.forEach((line, i) => {
    const { shape } = line.look;
    ctx.strokeStyle = ctx.fillStyle = paint.tones[i];
    ctx.lineWidth = 1.75 * scale;
    let end = along.length - 1;
    while (end >= 0 && (line.values[end] ?? null) === null) end -= 1;
    if (end < 0) return;
    const step = plot.bbox.width / shown;
    for (let k = 0; k <= shown; k += 1) {
      const offset = bbox.left + Math.min(bbox.width, (k + (i % 3) / 3) * step);
      const at = k === shown ? end : plot.posToIdx((offset - bbox.left) / scale);
      if (line.values[at] === null || line.values[at] === undefined) continue;
      const [x, y] = place(line, at);
      if (y < bbox.top || y > bbox.top + bbox.height || x < bbox.left || x > bbox.left + bbox.width + 1) continue;
      const path = new Path2D(marker(shape, x, y, 3 * scale));
      if (shape === "cross" || shape === "plus") ctx.stroke(path);
      else ctx.fill(path);
    }
    const [, y] = place(line, end);
    const low = bbox.top + bbox.height;
    ends.push({
      i,
      label: `${line.label}${y > low ? " ↓" : y < bbox.top ? " ↑" : ""}`,
      y: Math.min(low, Math.max(bbox.top, y)),
    });
  });
  names(plot, ends, paint);
  if (spec.limit) nameLimit(plot, spec.limit, paint);
  ctx.restore();
}

/** The ends to name, from the top down: all of them if there is room, otherwise those that hide no other. */
function chosen(ends, gap, { height }) {
  ends.sort((a, b) => a.y - b.y);
  if ((ends.length - 1) * gap <= height) return ends;
  let free = -Infinity;
  return ends.filter(({ y }) => {
    if (y < free) return false;
    free = y + gap;
    return true;
  });
}

function names({ ctx, bbox }, all, { tones, font, room }) {
  const scale = devicePixelRatio;
  const gap = LINE_GAP * scale;
  const ends = chosen(all, gap, bbox);
  ends.forEach((end, k) => {
    end.y = Math.max(end.y, k ? ends[k - 1].y + gap : bbox.top);
  });
  let floor = bbox.top + bbox.height + gap / 2;
  for (const end of [...ends].reverse()) {
    end.y = Math.min(end.y, floor);
    floor = end.y - gap;
  }
  ctx.font = `600 ${12 * scale}px ${font}`;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const { i, label, y } of ends) {
    ctx.fillStyle = tones[i];
    ctx.fillText(shortened(ctx, String(label), (room - 16) * scale), bbox.left + bbox.width + 10 * scale, y);
  }
}

function nameLimit({ ctx, bbox, valToPos }, { text, value }, { ink, sheet }) {
  const place = [text, bbox.left + 8 * devicePixelRatio, valToPos(value, "y", true) - 4 * devicePixelRatio];
  ctx.textBaseline = "bottom";
  ctx.lineWidth = 5 * devicePixelRatio;
  ctx.lineJoin = "round";
  ctx.strokeStyle = sheet;
  ctx.strokeText(...place);
  ctx.fillStyle = ink;
  ctx.fillText(...place);
}

/** The text with its middle left out where there is no room: beginnings and numbers at the end stay. */
function shortened(ctx, text, room) {
  if (ctx.measureText(text).width <= room) return text;
  let kept = text.length - 1;
  const cut = () => `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
  while (kept > 2 && ctx.measureText(cut()).width > room) kept -= 1;
  return cut();
}
