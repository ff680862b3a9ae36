// The charts on the page, each in its place.

import { Chart } from "./chart.js";

const charts = new Map();

/** Draw `specs`, by the id of their place; `zoom` is called when somebody zooms. */
export function drawCharts(specs, zoom) {
  for (const [host, chart] of charts) {
    if (!host.isConnected) {
      chart.destroy();
      charts.delete(host);
    }
  }
  for (const [id, spec] of Object.entries(specs)) {
    const host = document.getElementById(id);
    if (!host) continue;
    if (!charts.has(host)) charts.set(host, new Chart(host, zoom));
    charts.get(host).update(spec);
  }
}

/** The chart that a node is part of. */
export const chartOf = (node) => charts.get(node.closest(".chart"));

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
