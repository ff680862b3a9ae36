// Tables: a caption, heads, rows that keep their place, and on a narrow screen either a scroll or one card a row.

import { el } from "./dom.js";

/**
 * columns: [{name, cell(row), number?, head?, sort?}]; `key(row)` names a row; `sorted` = {name, down}, if columns sort.
 * `left(row, index)` says which rows are there but not shown. `stack`: on a narrow screen each row becomes a card;
 * otherwise the table scrolls in its box.
 */
export function table(given) {
  const { caption, columns, rows, key, stack = false, sorted = null, hidden = false, left = () => false } = given;
  const heads = columns.map(({ name, number, sort }) =>
    el(
      "th",
      { scope: "col", role: "columnheader", class: number ? "number" : null, "aria-sort": order(name, sorted) },
      sort
        ? el("button", { type: "button", "data-action": "sort", "data-name": name }, name, arrow(name, sorted))
        : name,
    ),
  );
  const body = rows.map((row, i) =>
    el(
      "tr",
      { "data-key": key(row), role: "row", hidden: left(row, i) },
      columns.map((column) => cell(column, row)),
    ),
  );
  return el(
    "div",
    { class: stack ? "stack" : "scroll", "data-keep": "tabindex role aria-label", "data-name": caption },
    el(
      "table",
      { role: "table" },
      el("caption", { class: hidden ? "unseen" : null }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, heads)),
      el("tbody", { role: "rowgroup" }, body),
    ),
  );
}

function cell({ name, cell, number, head }, row) {
  const attributes = { class: number ? "number" : null, "data-label": name };
  return head
    ? el("th", { ...attributes, scope: "row", role: "rowheader" }, cell(row))
    : el("td", { ...attributes, role: "cell" }, cell(row));
}

function order(name, sorted) {
  if (sorted?.name !== name) return null;
  return sorted.down ? "descending" : "ascending";
}

function arrow(name, sorted) {
  if (sorted?.name !== name) return null;
  return el("span", { "aria-hidden": "true" }, sorted.down ? " ↓" : " ↑");
}

/** Let a box that scrolls be reached by keyboard; one that does not is no stop on the way. */
export function reachable(root) {
  for (const box of root.querySelectorAll(".scroll[data-name]")) {
    if (box.scrollWidth > box.clientWidth) {
      box.setAttribute("tabindex", "0");
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", box.dataset.name);
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    }
  }
}
