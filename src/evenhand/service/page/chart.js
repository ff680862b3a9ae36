// A chart of lines over rounds or clock time: drawn by uPlot, read and zoomed by mouse, touch and keyboard.

import { asTable, legend, place, sentence } from "./chart_words.js";
import { el, fill } from "./dom.js";
import { listen, zoomKey } from "./gestures.js";
import { plotOptions } from "./plot.js";

const KEYS =
  "arrow keys move through the rounds, with shift they select and Enter zooms; plus, minus and zero zoom as well";

/**
 * spec: {title, round: [..], from?: [..], at: [seconds] or null, axis, domain: [first, last], lines: [{label, look,
 * values, least?, most?}], limit?: {value, text}, range: [low, high], text: value -> string, tick: (value, step) -> string}.
 * With `from` a point is the largest of the rounds from there to `round`. `least` and `most` are levels beside a line, what it is promised and its cap, `limit` is a level for all. `zoom(wish)` is called with {first, last},
 * {factor, centre}, or null for everything.
 */
export class Chart {
  constructor(host, zoom) {
    this.host = host;
    this.zoom = zoom;
    this.plot = el("div", { class: "plot", tabindex: "0", role: "slider", "aria-orientation": "horizontal" });
    this.legend = el("ul", { class: "legend" });
    this.said = el("p", { class: "unseen", "aria-live": "off" });
    const kinds = ["png", "svg"].map((kind) =>
      el("button", { type: "button", "data-action": "picture", "data-kind": kind }, `Save as ${kind.toUpperCase()}`),
    );
    this.keep = el("p", { class: "keep" }, kinds);
    this.table = el(
      "details",
      { class: "as-table" },
      el("summary", {}, "Show as table"),
      el("div", { class: "scroll" }),
    );
    host.append(this.plot, this.legend, this.said, this.table, this.keep);
    this.cursor = this.anchor = this.focused = null;
    this.plot.addEventListener("keydown", (event) => this.key(event));
    this.plot.addEventListener("focus", () => this.said.setAttribute("aria-live", "polite"));
    this.plot.addEventListener("blur", () => {
      this.said.setAttribute("aria-live", "off");
      this.release();
    });
    this.legend.addEventListener("pointerover", (event) => this.focus(event.target.closest("[data-line]")));
    this.legend.addEventListener("pointerleave", () => this.focus(null));
    this.table.addEventListener("toggle", () => this.tell());
    listen(this, this.plot);
    this.watch = new ResizeObserver(() => this.resize());
    this.watch.observe(this.plot);
  }

  update(spec) {
    const { lines, limit, axis } = spec;
    const shape = JSON.stringify([lines.map(({ label, look }) => [label, look]), limit, axis]);
    const drawn = this.shape === shape && this.uplot;
    const read = document.activeElement === this.plot && this.cursor !== null ? this.spec.round[this.cursor] : null;
    this.spec = spec;
    this.plot.setAttribute("aria-label", `${spec.title}: chart; ${KEYS}`);
    if (drawn) this.uplot.setData(this.data());
    else this.draw();
    this.shape = shape;
    if (read === null) this.show();
    else {
      const index = spec.round.findLastIndex((round) => round <= read);
      this.move(Math.max(0, index));
    }
    this.tell();
  }

  destroy() {
    this.watch.disconnect();
    this.uplot?.destroy();
  }

  data() {
    return [this.along, ...this.spec.lines.map((line) => line.values)];
  }

  /** What lies along the axis: rounds, or seconds since 1970. */
  get along() {
    return this.spec.axis === "time" ? this.spec.at : this.spec.round;
  }

  /** The first and the last that is shown of what lies along the axis. */
  get domain() {
    const { axis, at, domain } = this.spec;
    if (axis !== "time") return domain[0] < domain[1] ? domain : [domain[0], domain[0] + 1];
    return [at[0], Math.max(at.at(-1), at[0] + 1)];
  }

  /** The round `x` pixels from the left edge of the plot. */
  roundAt(x) {
    const value = this.uplot.posToVal(x, "x");
    if (this.spec.axis !== "time") return Math.round(value);
    return this.spec.round[
      Math.max(
        0,
        this.spec.at.findLastIndex((at) => at <= value),
      )
    ];
  }

  /** Draw anew, with the colours that hold now. */
  draw() {
    if (!this.spec || this.plot.clientWidth === 0) return;
    this.legendNow(null);
    this.uplot?.destroy();
    this.uplot = new window.uPlot(plotOptions(this), this.data(), this.plot);
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

  /** A stretch was dragged over. */
  selected(plot) {
    const { left, width } = plot.select;
    if (width === 0 || this.anchor !== null) return;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.zoom({ first: this.roundAt(left), last: this.roundAt(left + width) });
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
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
    if (zoomKey(this, event)) event.preventDefault();
    if (!(event.key in steps)) return;
    event.preventDefault();
    const index = Math.min(
      last,
      Math.max(0, this.cursor === null && event.key === "ArrowLeft" ? last : steps[event.key]),
    );
    this.anchor = event.shiftKey ? (this.anchor ?? this.spec.round[now]) : null;
    this.move(index);
    this.said.textContent = sentence(this.spec, index);
  }

  move(index) {
    const pixel = (value) => this.uplot?.valToPos(value, "x");
    this.uplot?.setCursor({ left: pixel(this.along[index]), top: 0 }, false);
    this.cursor = index;
    const anchor = this.anchor === null ? index : Math.max(0, this.spec.round.indexOf(this.anchor));
    const [from, to] = [pixel(this.along[anchor]), pixel(this.along[index])];
    const height = this.uplot?.over.clientHeight ?? 0;
    this.uplot?.setSelect({ left: Math.min(from, to), width: Math.abs(to - from), top: 0, height }, false);
    this.show();
  }

  release() {
    this.cursor = this.anchor = null;
    this.uplot?.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.uplot?.setCursor({ left: -10, top: -10 }, false);
    this.show();
  }

  /** Set one line apart from the others, by its row in the legend. */
  focus(row) {
    this.uplot?.setSeries(row ? Number(row.dataset.line) + 1 : null, { focus: true });
  }

  show() {
    if (!this.spec) return;
    const { round } = this.spec;
    const last = round.length - 1;
    const index = Math.min(this.cursor ?? last, last);
    this.plot.setAttribute("aria-valuemin", round[0] ?? 0);
    this.plot.setAttribute("aria-valuemax", round[last] ?? 0);
    this.plot.setAttribute("aria-valuenow", round[index] ?? 0);
    this.plot.setAttribute("aria-valuetext", place(this.spec, index));
    this.legendNow(index);
  }

  legendNow(index) {
    fill(this.legend, legend(this.spec, index, this.focused));
  }

  /** The table under the chart, made only while it is open. */
  tell() {
    const box = this.table.querySelector(".scroll");
    if (!this.table.open || !this.spec) {
      box.replaceChildren();
      return;
    }
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `${this.spec.title}, as a table`);
    fill(box, asTable(this.spec));
  }
}
