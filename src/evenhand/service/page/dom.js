// Trees of elements made from data, and the page changed to match them. Data becomes text and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "path", "rect", "line", "g"]);

/** Make an element; a null attribute is left out, a null child too. */
export function el(tag, attributes = {}, ...children) {
  const node = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Change the children of `node` to `children`, keeping what is the same: focus, scroll and open details stay. */
export function fill(node, ...children) {
  const wanted = document.createElement("div");
  wanted.append(...children.flat(Infinity).filter(Boolean));
  matchChildren(node, wanted);
}

const keyOf = (node) => node.dataset?.key ?? null;

function match(current, wanted) {
  if (current.nodeType !== Node.ELEMENT_NODE) {
    if (current.data !== wanted.data) current.data = wanted.data;
    return;
  }
  if (current.hasAttribute("data-own")) return;
  const kept = (wanted.getAttribute("data-keep") ?? "").split(" ");
  for (const { name } of [...current.attributes]) {
    if (!wanted.hasAttribute(name) && !kept.includes(name)) current.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (current.getAttribute(name) !== value) current.setAttribute(name, value);
  }
  if (current.type === "checkbox") current.checked = wanted.checked;
  matchChildren(current, wanted);
}

function matchChildren(current, wanted) {
  const next = [...wanted.childNodes];
  const keys = new Set(next.map(keyOf).filter((key) => key !== null));
  const keyed = new Map();
  for (const child of [...current.childNodes]) {
    const key = keyOf(child);
    if (key !== null && !keys.has(key)) child.remove();
    else if (key !== null) keyed.set(key, child);
  }
  let place = current.firstChild;
  for (const child of next) {
    const key = keyOf(child);
    const same = key === null ? place : keyed.get(key);
    if (!same || same.nodeName !== child.nodeName || keyOf(same) !== key) {
      current.insertBefore(child, place);
      continue;
    }
    if (same === place) place = place.nextSibling;
    else current.insertBefore(same, place);
    match(same, child);
  }
  while (place) {
    const rest = place.nextSibling;
    place.remove();
    place = rest;
  }
}
