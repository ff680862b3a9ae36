// Zooming by hand: keys, control and wheel, two fingers. Dragging is uPlot's own.

/** The keys of a chart that zoom; `chart` has `cursor`, `anchor`, `zoom`. Whether the key was one of them. */
export function zoomKey(chart, event) {
  const { round } = chart.spec;
  const at = chart.cursor === null ? null : round[chart.cursor];
  switch (event.key) {
    case "+":
    case "=":
      chart.zoom({ factor: 1 / 2, centre: at });
      return true;
    case "-":
    case "_":
      chart.zoom({ factor: 2, centre: at });
      return true;
    case "0":
      chart.zoom(null);
      return true;
    case "Enter":
      if (chart.anchor === null || at === null || chart.anchor === at) return false;
      chart.zoom({ first: Math.min(chart.anchor, at), last: Math.max(chart.anchor, at) });
      return true;
    default:
      return false;
  }
}

/** Let control and wheel, and two fingers, zoom where they are. */
export function listen(chart, node) {
  const round = (x) => chart.roundAt(x - chart.uplot.over.getBoundingClientRect().left);
  node.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey || !chart.uplot) return;
      event.preventDefault();
      chart.zoom({ factor: Math.exp(Math.max(-0.5, Math.min(0.5, event.deltaY / 200))), centre: round(event.clientX) });
    },
    { passive: false },
  );
  const fingers = new Map();
  let held = null;
  node.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" || !chart.uplot) return;
    fingers.set(event.pointerId, event.clientX);
    held = fingers.size === 2 ? ends(fingers).map(round) : null;
  });
  node.addEventListener("pointermove", (event) => {
    if (fingers.has(event.pointerId)) fingers.set(event.pointerId, event.clientX);
  });
  const lift = (event) => {
    if (held && fingers.size === 2) pinched(chart, held, ends(fingers));
    held = null;
    fingers.delete(event.pointerId);
  };
  node.addEventListener("pointerup", lift);
  node.addEventListener("pointercancel", lift);
}

const ends = (fingers) => [...fingers.values()].sort((a, b) => a - b);

/** Bring the rounds `[a, b]`, held where the fingers began, to where the fingers are now. */
function pinched(chart, [a, b], [left, right]) {
  const box = chart.uplot.over.getBoundingClientRect();
  if (right - left < 8 || b <= a) return;
  const perPixel = (b - a) / (right - left);
  const first = a - (left - box.left) * perPixel;
  chart.zoom({ first, last: first + box.width * perPixel });
}
