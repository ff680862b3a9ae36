// The manual: every route of this service, from its own document.

import { el, fill } from "./dom.js";

const METHODS = ["get", "post", "put", "patch", "delete"];
const content = document.getElementById("content");
const state = document.getElementById("state");

function main(openapi) {
  const routes = Object.entries(openapi.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => ({ path, method, ...item[method] })),
  );
  fill(
    content,
    el("h1", {}, openapi.info.title),
    el("p", { class: "meta" }, prose(openapi.info.description)),
    el("p", { class: "meta" }, "For machines: ", el("a", { href: "openapi.json" }, "openapi.json"), "."),
    openapi.tags.map((tag) => section(tag, routes.filter((route) => route.tags.includes(tag.name)), openapi)),
  );
  open(location.hash);
}

function section(tag, routes, openapi) {
  const title = `part-${tag.name}`;
  return el(
    "section",
    { class: "sheet", "aria-labelledby": title },
    el("h2", { id: title }, tag.name),
    el("p", {}, tag.description),
    routes.map((route) => shown(route, openapi)),
  );
}

function shown(route, openapi) {
  const body = route.requestBody?.content ?? {};
  const schema = body["application/json"]?.schema;
  return el(
    "details",
    { class: "route", id: route.operationId, "data-keep": "open" },
    el(
      "summary",
      {},
      el("span", { class: "method" }, route.method.toUpperCase()),
      el("code", { class: "path" }, route.path),
      el("span", { class: "said" }, prose(route.summary)),
    ),
    el("p", {}, prose(route.description)),
    table("Parameters", ["name", "in", "what it is"], (route.parameters ?? []).map((one) => [
      el("code", {}, one.name),
      one.in,
      [kind(one.schema, openapi), prose(one.description)],
    ])),
    schema ? bodies(schema, openapi) : null,
    schema ? el("pre", {}, el("code", {}, command(route, schema, openapi))) : null,
    Object.keys(body).length > 1 ? el("p", {}, `Also as ${Object.keys(body).slice(1).join(", ")}.`) : null,
    table("Answers", ["status", "what it says"], Object.entries(route.responses).map(([status, answer]) => [
      el("code", {}, status),
      [prose(answer.description), fieldsOf(answer.content?.["application/json"]?.schema, openapi)],
    ])),
  );
}

/** The bodies that a route takes: one, or one of several. */
function bodies(schema, openapi) {
  const forms = schema.oneOf ?? schema.anyOf ?? [schema];
  return forms.map((form) => {
    const whole = resolved(form, openapi);
    const required = new Set(whole.required ?? []);
    const rows = Object.entries(whole.properties ?? {}).map(([name, field]) => [
      [el("code", {}, name), required.has(name) ? " (required)" : null],
      [kind(field, openapi), prose(field.description)],
    ]);
    return [whole.description && forms.length > 1 ? el("p", {}, whole.description) : null, table("Body", ["field", "what it is"], rows)];
  });
}

function table(title, heads, rows) {
  if (!rows.length) return null;
  return el(
    "div",
    {},
    el("h4", {}, title),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))),
      ),
    ),
  );
}

/** Text in which what stands between backticks is code. */
function prose(text) {
  return (text ?? "").split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

/** The names of the fields of an answer, in words. */
function fieldsOf(schema, openapi) {
  const names = Object.keys(resolved(schema ?? {}, openapi).properties ?? {});
  return names.length && !names.includes("error") ? el("p", { class: "kind" }, `With ${names.join(", ")}.`) : null;
}

function resolved(schema, openapi) {
  return schema.$ref ? openapi.components.schemas[schema.$ref.split("/").at(-1)] : schema;
}

/** What a value may be, in words. */
function kind(schema, openapi) {
  return el("span", { class: "kind" }, `${words(schema, openapi)}. `);
}

function words(schema, openapi) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return `one of ${schema.enum.map((one) => JSON.stringify(one)).join(", ")}`;
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms) return forms.map((form) => words(form, openapi)).join(" or ");
  const whole = resolved(schema, openapi);
  if (whole.type === "array") return `list of ${words(whole.items ?? {}, openapi)}`;
  return { string: "text", integer: "whole number", boolean: "true or false", null: "null" }[whole.type] ?? whole.type ?? "any value";
}

/** A command that a reader may paste and change. */
function command(route, schema, openapi) {
  const form = resolved((schema.oneOf ?? schema.anyOf ?? [schema])[0], openapi);
  const known = Object.entries(form.properties ?? {}).filter(([, field]) => field.examples);
  const given = form.required ? known.filter(([name]) => form.required.includes(name)) : known.slice(0, 1);
  const example = JSON.stringify(Object.fromEntries(given.map(([name, field]) => [name, field.examples[0]])));
  const path = (route.parameters ?? []).reduce(
    (text, one) => text.replace(`{${one.name}}`, one.schema.examples?.[0] ?? `{${one.name}}`),
    route.path,
  );
  const address = new URL(path.slice(1), document.baseURI).href;
  return `curl -X ${route.method.toUpperCase()} ${address} \\\n  -H "Authorization: Bearer $KEY" -H "Content-Type: application/json" \\\n  -d '${example}'`;
}

/** Open the route that an address names. */
function open(hash) {
  const route = document.getElementById(decodeURIComponent(hash.slice(1)));
  if (route instanceof HTMLDetailsElement) {
    route.open = true;
    route.scrollIntoView();
  }
}

addEventListener("hashchange", () => open(location.hash));
content.addEventListener("toggle", (event) => {
  if (event.target.open && event.target.id) history.replaceState(null, "", `#${event.target.id}`);
}, true);

try {
  const answer = await fetch("openapi.json");
  if (!answer.ok) throw new Error(`openapi.json: ${answer.status}`);
  main(await answer.json());
} catch (error) {
  state.textContent = `The document cannot be read: ${error.message}`;
}
