// A chart as a picture to keep: an SVG in the colours of paper, or that SVG drawn as a PNG.

import { LEAST, MOST } from "./drawing.js";
import { marker } from "./marks.js";
import { paintOf } from "./plot.js";
import { save } from "./record.js";

const SVG = "http://www.w3.org/2000/svg";
const [TOP, BOTTOM, LEGEND] = [64, 24, 22];
const [SCALE, EDGE] = [2, 16];

function node(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  made.append(...children.flat(Infinity));
  return made;
}

/** The picture of a chart, with its title, its subtitle and its legend. */
export function svgOf({ uplot: plot, spec, ticks, along }, subtitle, { tones, ink, quiet, grid, sheet }) {
  const ratio = devicePixelRatio;
  const [left, top, wide, high] = ["left", "top", "width", "height"].map((side) => plot.bbox[side] / ratio);
  const columns = Math.max(1, Math.floor(wide / 260));
  const width = left + wide + 3 * EDGE;
  const height = TOP + plot.height + LEGEND * Math.ceil(spec.lines.length / columns) + BOTTOM;
  const [x, y] = [(value) => left + plot.valToPos(value, "x"), (value) => TOP + top + plot.valToPos(value, "y")];
  const text = (words, at, more = {}) =>
    node("text", { x: at[0], y: at[1], fill: ink, "font-size": 12, ...more }, words);
  const line = (d, stroke, more = {}) => node("path", { d, stroke, fill: "none", ...more });
  const path = (values) => {
    let pen = "M";
    const steps = values.map((value, i) => {
      if (value === null || value === undefined) {
        pen = "M";
        return "";
      }
      const step = `${pen}${x(along[i]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = "L";
      return step;
    });
    return steps.join("");
  };
  const level = (value) => `M${left} ${y(value)}h${wide}`;
  const box = { x: left, y: TOP + top, width: wide, height: high };
  const drawn = node("g", { "clip-path": "url(#plot)" });
  spec.lines.forEach(({ look, values, least, most }, i) => {
    for (const [value, dash] of [
      [least, LEAST],
      [most, MOST],
    ]) {
      if (typeof value === "number") drawn.append(line(level(value), tones[i], { "stroke-dasharray": dash.join(" ") }));
    }
    drawn.append(
      line(path(values), tones[i], {
        "stroke-width": look.width ?? 1.75,
        "stroke-dasharray": look.dash.join(" ") || null,
      }),
    );
  });
  if (spec.limit) drawn.append(line(level(spec.limit.value), ink, { "stroke-width": 1.5 }));
  return node(
    "svg",
    {
      xmlns: SVG,
      width,
      height,
      viewBox: `${-EDGE} 0 ${width} ${height}`,
      "font-family": "system-ui, sans-serif",
    },
    node("title", {}, `${spec.title}: ${subtitle}`),
    node("clipPath", { id: "plot" }, node("rect", box)),
    node("rect", { x: -EDGE, width, height, fill: sheet }),
    text(spec.title, [left, 26], { "font-size": 16, "font-weight": 600 }),
    text(subtitle, [left, 46], { fill: quiet }),
    ticks.y
      .filter(({ value }) => y(value) >= TOP + top - 1 && y(value) <= TOP + top + high + 1)
      .flatMap((tick) => [
        line(level(tick.value), grid.stroke),
        text(tick.text, [left - 8, y(tick.value) + 4], { "text-anchor": "end", fill: quiet }),
      ]),
    ticks.x
      .filter(({ value }) => x(value) >= left - 1 && x(value) <= left + wide + 1)
      .flatMap((tick) => [
        line(`M${x(tick.value)} ${TOP + top}v${high}`, grid.stroke),
        tick.text
          .split("\n")
          .map((words, row) =>
            text(words, [x(tick.value), TOP + top + high + 18 + 14 * row], { "text-anchor": "middle", fill: quiet }),
          ),
      ]),
    drawn,
    spec.limit ? text(spec.limit.text, [left + 8, y(spec.limit.value) - 5], { "font-weight": 600 }) : [],
    spec.lines.flatMap(({ label, look, values }, i) => {
      const at = [left + (i % columns) * 260, TOP + plot.height + LEGEND * Math.floor(i / columns) + 8];
      const figure = values.findLast((value) => value !== null && value !== undefined);
      return [
        line(`M${at[0]} ${at[1]}h46`, tones[i], { "stroke-width": 2, "stroke-dasharray": look.dash.join(" ") || null }),
        node("path", { d: marker(look.shape, at[0] + 23, at[1], 3.5), stroke: tones[i], fill: tones[i] }),
        text(`${brief(String(label))}  ${spec.text(figure)}`, [at[0] + 54, at[1] + 4]),
      ];
    }),
  );
}

const brief = (label) => (label.length <= 22 ? label : `${label.slice(0, 21)}…`);

/** Save the picture of a chart as `kind`, "svg" or "png". */
export async function savePicture(chart, subtitle, name, kind) {
  const text = new XMLSerializer().serializeToString(svgOf(chart, subtitle, paperPaint(chart)));
  save(kind === "svg" ? new Blob([text], { type: "image/svg+xml" }) : await drawn(text), `${name}.${kind}`);
}

/** The colours of a chart as they are on paper, whatever the screen shows now. */
function paperPaint(chart) {
  const root = document.documentElement;
  const printing = root.hasAttribute("data-print");
  root.toggleAttribute("data-print", true);
  const paint = paintOf(chart);
  root.toggleAttribute("data-print", printing);
  return paint;
}

async function drawn(text) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = SCALE * image.width;
  canvas.height = SCALE * image.height;
  const context = canvas.getContext("2d");
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
