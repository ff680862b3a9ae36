// Before a study is chosen: the form for a key, and the list of studies.

import { el } from "./dom.js";
import { count, counted, day } from "./format.js";
import { table } from "./table.js";
import { STORE, promiseBadge } from "./labels.js";

export function keyForm(problem) {
  return el(
    "section",
    { class: "sheet narrow", "data-key": "key-form" },
    el("h1", { tabindex: "-1" }, "A key to watch with"),
    el(
      "p",
      {},
      "This page shows studies to whoever has a key with the role ",
      el("strong", {}, "read"),
      ". It is kept in this browser only, until you forget it.",
    ),
    problem
      ? el(
          "p",
          { class: "problem", role: "alert", id: "key-problem" },
          el("span", { "aria-hidden": "true" }, "▲ "),
          problem,
        )
      : null,
    el(
      "form",
      { id: "key-form", "data-action": "key" },
      el("label", { for: "key" }, "Key"),
      el(
        "div",
        { class: "joined" },
        el("input", {
          id: "key",
          name: "key",
          type: "password",
          autocomplete: "off",
          spellcheck: "false",
          required: true,
          "aria-describedby": problem ? "key-problem" : null,
        }),
        el("button", { type: "submit", class: "primary" }, "Watch"),
      ),
    ),
    el(
      "p",
      { class: "hint" },
      "No key yet? ",
      el("code", {}, "evenhand serve"),
      " prints the address of this page with a key in it; ",
      el("code", {}, "evenhand keys STORE add --role read"),
      ` makes one that lasts. ${STORE}.`,
    ),
  );
}

function outline(studies) {
  const broken = studies.filter(({ promise }) => promise === "broken").length;
  const promises = studies.some(({ promise }) => promise === "kept") ? "every promise is kept" : "no promise to check";
  return [
    counted(studies.length, "study", "studies"),
    broken === 0 ? promises : `${counted(broken, "promise is", "promises are")} broken`,
  ]
    .join("; ")
    .concat(".");
}

export function studyList(studies) {
  const columns = [
    { name: "Study", head: true, cell: ({ name }) => el("a", { href: `#study=${encodeURIComponent(name)}` }, name) },
    { name: "Policy", cell: ({ policy }) => el("code", {}, policy) },
    { name: "Decisions", number: true, cell: ({ decisions }) => count(decisions) },
    { name: "Open tickets", number: true, cell: ({ open }) => count(open) },
    { name: "Promise", cell: ({ promise }) => promiseBadge(promise) },
    { name: "Created", cell: ({ created }) => day(created) },
  ];
  return [
    el("h1", { tabindex: "-1", "data-key": "title" }, "Studies"),
    studies.length > 0 ? el("p", { class: "headline", "data-key": "headline" }, outline(studies)) : null,
    studies.length === 0
      ? el(
          "section",
          { class: "sheet empty", "data-key": "empty" },
          el("p", {}, "This store has no study yet. Create one from a shell, and it appears here:"),
          el("pre", {}, el("code", {}, "evenhand new STORE --name ads --policy quotas/fair-ucb --shares a=0.2,b=0.3")),
          el("p", { class: "hint" }, `${STORE}.`),
        )
      : el(
          "section",
          { class: "sheet", "data-key": "studies" },
          table({
            caption: "Studies in this store",
            columns,
            rows: studies,
            key: ({ name }) => name,
            stack: true,
            hidden: true,
          }),
        ),
  ];
}
