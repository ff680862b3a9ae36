// A chart of lines over rounds: drawn by uPlot, read by mouse, touch and keyboard, and told as text and table.

import { el, fill } from "./dom.js";
import { levels, marks } from "./drawing.js";
import { count } from "./format.js";
import { swatch } from "./marks.js";
import { named } from "./labels.js";

/**
 * spec: {title, round: [..], lines: [{label, look, values, reference?}], limit?: {value, text}, range: [low, high],
 * text: value -> string, tick: (value, step) -> string}. `reference` is a level beside its line, `limit` a level for all.
 */
export class Chart {
  constructor(host) {
    this.host = host;
    this.plot = el("div", { class: "plot", tabindex: "0", role: "slider", "aria-orientation": "horizontal" });
    this.legend = el("ul", { class: "legend" });
    this.said = el("p", { class: "unseen", "aria-live": "off" });
    this.table = el(
      "details",
      { class: "as-table" },
      el("summary", {}, "Show as table"),
      el("div", { class: "scroll" }),
    );
    host.append(this.plot, this.legend, this.said, this.table);
    this.cursor = null;
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("focus", () => this.said.setAttribute("aria-live", "polite"));
    this.plot.addEventListener("blur", () => {
      this.said.setAttribute("aria-live", "off");
      this.release();
    });
    this.table.addEventListener("toggle", () => this.tell());
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.plot);
  }

  update(spec) {
    const shape = JSON.stringify([spec.lines.map(({ label, look }) => [label, look]), spec.limit]);
    const drawn = this.shape === shape && this.uplot;
    const read = document.activeElement === this.plot && this.cursor !== null ? this.spec.round[this.cursor] : null;
    this.spec = spec;
    this.plot.setAttribute("aria-label", `${spec.title}: chart; arrow keys move through the rounds`);
    if (drawn) this.uplot.setData(this.data());
    else this.draw();
    this.shape = shape;
    if (read === null) this.show();
    else
      this.move(
        Math.max(
          0,
          spec.round.findLastIndex((round) => round <= read),
        ),
      );
    this.tell();
  }

  destroy() {
    this.watch.disconnect();
    this.uplot?.destroy();
  }

  data() {
    return [this.spec.round, ...this.spec.lines.map((line) => line.values)];
  }

  /** Draw anew, with the colours that hold now. */
  draw() {
    if (!this.spec || this.plot.clientWidth === 0) return;
    this.legendNow(null);
    const style = getComputedStyle(this.plot);
    const tones = [...this.legend.querySelectorAll("svg")].map((node) => getComputedStyle(node).color);
    const grid = { stroke: getComputedStyle(this.host).getPropertyValue("border-top-color"), width: 1 };
    const axis = { stroke: style.color, font: `12px ${style.fontFamily}`, grid, ticks: { ...grid, size: 4 } };
    const ticks = (plot, values, axis, space, step) => values.map((value) => this.spec.tick(value, step));
    const room = this.plot.clientWidth < 480 ? 76 : 120;
    const paint = { tones, ink: style.color, sheet: style.backgroundColor, font: style.fontFamily, room };
    this.uplot?.destroy();
    this.uplot = new window.uPlot(
      {
        ...this.size(),
        padding: [10, room, 0, 0],
        legend: { show: false },
        cursor: { y: false, drag: { setScale: false, x: false }, points: { size: 7 } },
        scales: { x: { time: false }, y: { range: () => this.spec.range } },
        axes: [
          {
            ...axis,
            values: (plot, values) => values.map((value) => (Number.isInteger(value) ? count(value) : "")),
            space: 72,
            size: 30,
          },
          {
            ...axis,
            values: ticks,
            size: (plot, values) => 14 + 7 * Math.max(...(values ?? [""]).map((value) => value.length)),
            space: 34,
          },
        ],
        series: [
          {},
          ...this.spec.lines.map(({ look }, i) => ({
            stroke: tones[i],
            width: look.width ?? 1.75,
            dash: look.dash,
            points: { show: false },
          })),
        ],
        hooks: {
          drawClear: [(plot) => levels(plot, this.spec, paint)],
          draw: [(plot) => marks(plot, this.spec, paint)],
          setCursor: [(plot) => this.pointed(plot)],
        },
      },
      this.data(),
      this.plot,
    );
  }

  size() {
    const width = this.plot.clientWidth;
    return { width, height: width < 480 ? 230 : 280 };
  }

  resize() {
    if (!this.uplot) {
      this.draw();
      return;
    }
    const { width, height } = this.size();
    if (width > 0 && (width !== this.uplot.width || height !== this.uplot.height)) this.draw();
  }

  pointed(plot) {
    this.cursor = plot.cursor.left >= 0 ? plot.cursor.idx : null;
    this.show();
  }

  key(event) {
    const last = this.spec.round.length - 1;
    const now = this.cursor ?? last;
    const steps = {
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      PageDown: now - 10,
      PageUp: now + 10,
      Home: 0,
      End: last,
    };
    if (event.key === "Escape") this.release();
    if (!(event.key in steps) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const index = Math.min(
      last,
      Math.max(0, this.cursor === null && event.key === "ArrowLeft" ? last : steps[event.key]),
    );
    this.move(index);
    this.said.textContent = this.sentence(index);
  }

  move(index) {
    this.uplot?.setCursor({ left: this.uplot.valToPos(this.spec.round[index], "x"), top: 0 }, false);
    this.cursor = index;
    this.show();
  }

  release() {
    this.cursor = null;
    this.uplot?.setCursor({ left: -10, top: -10 }, false);
    this.show();
  }

  sentence(index) {
    const parts = this.spec.lines.map((line) => `${line.label} ${this.spec.text(line.values[index])}`);
    return `Round ${count(this.spec.round[index])}: ${parts.join(", ")}`;
  }

  show() {
    if (!this.spec) return;
    const last = this.spec.round.length - 1;
    const index = Math.min(this.cursor ?? last, last);
    this.plot.setAttribute("aria-valuemin", this.spec.round[0] ?? 0);
    this.plot.setAttribute("aria-valuemax", this.spec.round[last] ?? 0);
    this.plot.setAttribute("aria-valuenow", this.spec.round[index] ?? 0);
    this.plot.setAttribute("aria-valuetext", `round ${count(this.spec.round[index])}`);
    this.legendNow(index);
  }

  legendNow(index) {
    const value = (line) => (index === null ? "" : this.spec.text(line.values[index]));
    const promised = (line) =>
      typeof line.reference === "number" ? `, promised ${this.spec.text(line.reference)}` : "";
    fill(
      this.legend,
      el("li", { class: "round" }, index === null ? "" : `round ${count(this.spec.round[index])}`),
      this.spec.lines.map((line) =>
        el(
          "li",
          {},
          swatch(line.look),
          el("span", { class: "name" }, named(line.label)),
          el("span", { class: "figure" }, value(line), promised(line)),
        ),
      ),
    );
  }

  /** The table under the chart, made only while it is open. */
  tell() {
    const box = this.table.querySelector(".scroll");
    if (!this.table.open || !this.spec) {
      box.replaceChildren();
      return;
    }
    const { round, lines, text, title } = this.spec;
    const head = el(
      "tr",
      {},
      el("th", { scope: "col" }, "Round"),
      lines.map((line) => el("th", { scope: "col" }, named(line.label))),
    );
    const rows = round
      .map((at, i) =>
        el(
          "tr",
          { "data-key": at },
          el("th", { scope: "row" }, count(at)),
          lines.map((line) => el("td", {}, text(line.values[i]))),
        ),
      )
      .reverse();
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `${title}, as a table`);
    fill(
      box,
      el("table", {}, el("caption", {}, `${title}, newest first`), el("thead", {}, head), el("tbody", {}, rows)),
    );
  }
}
