// What the user does: each action changes what is shown, or asks the service for something.

import { firstDrawn } from "./charts.js";
import { dialog } from "./dialog.js";
import { count, exactly } from "./format.js";
import { chartOf } from "./hosts.js";
import { savePicture } from "./picture.js";
import { download, runAudit } from "./record.js";
import { closeUp, moved, scaled, within } from "./zoom.js";

const SETTLED = 250;

/** The actions on a page: {shown, service, route, watch, useKey, render}. */
export function actionsOn(page) {
  const ui = () => page.shown.ui;
  const total = () => Math.max(...[page.shown, page.shown.other].map((one) => one?.series?.round.at(-1) ?? 0));
  let timer = null;

  function turnTo(pages) {
    ui().pages = pages;
    page.shown.wanted += 1;
    page.watch.now();
  }

  /** Show these rounds: {first, last}, {factor, centre}, or null for all; then read them closely. */
  function zoom(range) {
    if (range === null) ui().zoom = null;
    else if ("factor" in range) ui().zoom = scaled(ui().zoom, total(), range.factor, range.centre);
    else ui().zoom = within(range.first, range.last, total());
    clearTimeout(timer);
    const { shown } = page;
    for (const one of [shown, shown.other]) if (one) one.close = null;
    if (ui().zoom) timer = setTimeout(() => readClosely(shown, ui().zoom), SETTLED);
    page.render();
  }

  function readClosely(shown, zoom) {
    for (const one of [shown, shown.other]) {
      if (!one) continue;
      closeUp(page.service, one.state.name, one.series, zoom, (close) => {
        if (shown.ui.zoom !== zoom) return;
        one.close = close;
        if (shown === page.shown) page.render();
      });
    }
  }

  /** The part of a study's page about its log, with changes. */
  function note(shown, changes) {
    Object.assign(shown.record, changes);
    if (shown === page.shown) page.render();
  }

  const actions = {
    key: (target) => page.useKey(target.elements.key.value.trim()),
    sort: ({ dataset: { name } }) => {
      ui().sorted = { name, down: ui().sorted?.name !== name || !ui().sorted.down };
    },
    sortBy: ({ value: name }) => {
      ui().sorted = name ? { name, down: name !== "Arm" && name !== "Group" } : null;
    },
    find: ({ value }) => {
      ui().find = value;
    },
    findLine: ({ value }) => {
      ui().line = value;
    },
    all: () => {
      ui().all = !ui().all;
    },
    choose: ({ dataset: { index }, checked }) => {
      const rest = ui().chosen.filter((i) => i !== Number(index));
      ui().chosen = checked ? [...rest, Number(index)] : rest;
    },
    furthest: () => {
      ui().chosen = firstDrawn(page.shown.series, page.shown.state);
    },
    everyLine: () => {
      ui().chosen = page.shown.series.labels.map((_, i) => i);
    },
    filters: (target) => {
      for (const name of ["arm", "reason", "open"]) ui()[name] = target.elements[name].value;
      turnTo([]);
    },
    newest: () => turnTo([]),
    newer: () => turnTo(ui().pages.slice(0, -1)),
    older: () => turnTo([...ui().pages, page.shown.page.next]),
    allOpen: () => {
      ui().allOpen = !ui().allOpen;
    },
    axis: ({ dataset: { name } }) => {
      ui().axis = name;
    },
    closer: () => zoom({ factor: 1 / 2, centre: null }),
    wider: () => zoom({ factor: 2, centre: null }),
    earlier: () => zoom(moved(ui().zoom, total(), -1 / 2)),
    later: () => zoom(moved(ui().zoom, total(), 1 / 2)),
    whole: () => zoom(null),
    picture: (target) => {
      const chart = chartOf(target);
      const { name } = page.shown.state;
      const place = target.closest(".chart").id.replace("chart-", "");
      const { axis, round } = chart.spec;
      const rounds = axis === "time" ? "" : `rounds ${count(round[0])} to ${count(round.at(-1))}, `;
      savePicture(chart, `${name}, ${rounds}as of ${exactly(new Date())}`, `${name}-${place}`, target.dataset.kind);
    },
    form: ({ value }) => {
      page.shown.record.form = value;
    },
    download: async ({ dataset: { format } }) => {
      const { shown, service } = page;
      note(shown, { busy: format, problem: null });
      note(shown, { problem: await download(service, shown.state.name, format, shown.record.form), busy: null });
    },
    audit: () => {
      const { shown, service } = page;
      runAudit(service, shown.state.name, (audit) => note(shown, { audit }));
    },
    compareWith: ({ value }) => {
      if (value) location.hash = `study=${encodeURIComponent(page.route.study)}&with=${encodeURIComponent(value)}`;
    },
    close: () => dialog.close(),
  };

  return { actions, zoom };
}
