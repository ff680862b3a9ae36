// A section of a study's page: a sheet with a heading that the list of parts leads to.

import { el } from "./dom.js";

export function section(id, short, title, ...children) {
  return el(
    "section",
    { class: "sheet", id, "data-key": id, "data-short": short, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title`, tabindex: "-1" }, title),
    ...children,
  );
}
