// What uPlot is told of a chart: sizes, colours as they are now, axes, and what to draw beside the lines.

import { levels, marks } from "./drawing.js";
import { clockTicks, count } from "./format.js";

const MANY = 8;

/** The options for uPlot. */
export function plotOptions(chart) {
  const paint = paintOf(chart);
  const axis = { stroke: paint.quiet, font: `12px ${paint.font}`, grid: paint.grid, ticks: { ...paint.grid, size: 4 } };
  const timed = chart.spec.axis === "time";
  const many = chart.spec.lines.length > MANY;
  const noted =
    (name, texts) =>
    (plot, values, ...more) => {
      const step = more.at(-1);
      chart.ticks = { ...chart.ticks, [name]: values.map((value, i) => ({ value, text: texts(values, step)[i] })) };
      return chart.ticks[name].map(({ text }) => text);
    };
  const rounds = (values) => values.map((value) => (Number.isInteger(value) ? count(value) : ""));
  return {
    ...chart.size(),
    padding: [10, paint.room, 0, 0],
    legend: { show: false },
    focus: { alpha: many ? 0.15 : 0.4 },
    cursor: {
      y: false,
      drag: { setScale: false, x: true, y: false, dist: 5 },
      points: many ? { show: false } : { size: 7 },
      focus: { prox: many ? 24 : -1 },
      bind: { dblclick: () => () => chart.zoom(null) },
    },
    scales: { x: { time: timed, range: () => chart.domain }, y: { range: () => chart.spec.range } },
    axes: [
      {
        ...axis,
        values: noted("x", timed ? clockTicks : rounds),
        space: paint.narrow ? 52 : timed ? 88 : 72,
        size: timed ? 44 : 30,
      },
      {
        ...axis,
        values: noted("y", (values, step) => values.map((value) => chart.spec.tick(value, step))),
        size: (plot, values) => 14 + 7 * Math.max(...(values ?? [""]).map((value) => value.length)),
        space: 34,
      },
    ],
    series: [
      {},
      ...chart.spec.lines.map(({ look }, i) => ({
        stroke: paint.tones[i],
        width: look.width ?? (many ? 1.25 : 1.75),
        dash: look.dash,
        points: { show: false },
      })),
    ],
    hooks: {
      drawClear: [(plot) => levels(plot, chart.spec, paint)],
      draw: [(plot) => marks(plot, chart.spec, paint)],
      setCursor: [(plot) => chart.pointed(plot)],
      setSelect: [(plot) => chart.selected(plot)],
      setSeries: [
        (plot, line) => {
          chart.focused = line ? line - 1 : null;
          chart.show();
        },
      ],
    },
  };
}

/** The colours and the font that hold now, and the room for names at the ends of the lines. */
export function paintOf({ plot, host, legend }) {
  const style = getComputedStyle(plot);
  const narrow = plot.clientWidth < 480;
  const variable = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    host.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
  return {
    tones: [...legend.querySelectorAll("svg")].map((node) => getComputedStyle(node).color),
    ink: variable("--ink"),
    quiet: style.color,
    sheet: style.backgroundColor,
    font: style.fontFamily,
    grid: { stroke: getComputedStyle(host).getPropertyValue("border-top-color"), width: 1 },
    narrow,
    room: narrow ? 76 : 120,
  };
}
