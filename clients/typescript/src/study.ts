import type { Client as Routes } from "openapi-fetch";

import { EvenhandError, errorOf } from "./errors.js";
import type { Sending } from "./retries.js";
import type { components, paths } from "./service.js";

type Schemas = components["schemas"];

/** A decision, with the ticket under which its outcome is told. Which other fields it has depends on the policy. */
export type Decision = Schemas["DecisionOut"];
export type Label = string | number;
/** The share of each arm, a number or a fraction in words such as "1/3". */
export type Shares = Record<string, number | string>;
export type Told = "told" | "already told";
/** What a round shows the policy. */
export type Shown = Pick<
  Schemas["AskBody"],
  "contexts" | "attributes" | "groups" | "available" | "annotator" | "weight" | "scores"
>;
/** What happened beside the reward. */
export type Happened = Pick<
  Schemas["TellBody"],
  "violations" | "acceptable" | "auditor" | "X" | "y" | "samples" | "weight"
>;
export type Reward = Schemas["TellBody"]["reward"];

type Init = {
  fetch: (request: Request) => Promise<Response>;
  headers: Record<string, string>;
};

/** Sends a request with the key of a role, and returns the body of a good response. */
export type Reader = <T>(
  role: "decide" | "report" | "read",
  more: Partial<Pick<Sending, "repeatable" | "timeout">>,
  send: (routes: Routes<paths>, init: Init) => Promise<{ data?: T; error?: unknown; response: Response }>,
) => Promise<T>;

const LONG = { timeout: 600_000 };

/** A study of a service. */
export class Study {
  readonly name: string;
  readonly #send: Reader;

  /** Use `client.study(name)`. */
  constructor(name: string, send: Reader) {
    this.name = name;
    this.#send = send;
  }

  /**
   * Return a decision. Asking again with the same `key` returns the same one; another ask under it is refused.
   *
   * With `sticky` the key alone decides: asking again returns its first decision, whatever else is given then.
   */
  async ask(round: Shown & { key?: string; sticky?: boolean } = {}): Promise<Decision> {
    const { key, ...body } = round;
    if (body.sticky && key === undefined) throw new EvenhandError("ArgumentError", "sticky: expected a key as well");
    return (await this.#ask(body, key)) as Decision;
  }

  /**
   * Return so many decisions, or one for each of the rounds. Decision i of a `key` is the same in every batch.
   *
   * A round that is refused is an error in the list; the others are decided.
   */
  async askMany(
    rounds: number | readonly (Shown & { key?: string })[],
    options: { key?: string } = {},
  ): Promise<(Decision | EvenhandError)[]> {
    const body = typeof rounds === "number" ? { count: rounds } : { batch: [...rounds] };
    const { decisions } = (await this.#ask(body, options.key)) as Schemas["DecisionBatch"];
    return decisions.map((row) => ("error" in row ? errorOf(row) : row));
  }

  #ask(body: Schemas["AskBody"] | Schemas["AskBatch"], key?: string) {
    const own = key ?? globalThis.crypto.randomUUID();
    if (!/^[!-~]([ -~]{0,98}[!-~])?$/.test(own)) {
      const wanted = "1 to 100 printable ASCII characters, neither first nor last a space";
      throw new EvenhandError("ArgumentError", `key: expected ${wanted}`);
    }
    const params = { ...this.#path(), header: { "Idempotency-Key": own } };
    return this.#send("decide", {}, (routes, init) => routes.POST("/studies/{name}/ask", { ...init, params, body }));
  }

  /** Tell what happened after a decision. The same report again is "already told"; another one is refused. */
  async tell(ticket: Decision | string, reward?: Reward, more: Happened = {}): Promise<Told> {
    return ((await this.#tell({ ticket: ticketOf(ticket), reward, ...more })) as { status: Told }).status;
  }

  /** Tell the label of an item, or null to reject the item. */
  async label(ticket: Decision | string, label: Label | null, options: { annotator?: string } = {}): Promise<Told> {
    return ((await this.#tell({ ticket: ticketOf(ticket), label, ...options })) as { status: Told }).status;
  }

  /** Tell many rewards. A report that is refused is an error in the list; the others are told. */
  async tellMany(
    reports: readonly (readonly [Decision | string, Reward])[],
  ): Promise<(Told | EvenhandError)[]> {
    const batch = reports.map(([ticket, reward]) => ({ ticket: ticketOf(ticket), reward }));
    const { results } = (await this.#tell({ batch })) as Schemas["ToldBatch"];
    return results.map((row) => (row.error ? errorOf(row) : row.status!));
  }

  #tell(body: Schemas["TellBody"] | Schemas["TellBatch"]) {
    const params = this.#path();
    return this.#send("report", {}, (routes, init) => routes.POST("/studies/{name}/tell", { ...init, params, body }));
  }

  /** Close a ticket whose outcome will never be known. */
  async forget(ticket: Decision | string): Promise<"forgotten" | "already forgotten"> {
    const given = { params: this.#path(), body: { ticket: ticketOf(ticket) } };
    const sent = await this.#send("report", {}, (routes, init) =>
      routes.POST("/studies/{name}/forget", { ...init, ...given }),
    );
    return sent.status as "forgotten" | "already forgotten";
  }

  /** Put an arm on offer, owed a share and at most its cap; return after how many rounds its promise begins. */
  async add(arm: Label, share: number | string = 0, cap: number | string | null = null): Promise<number> {
    const given = { params: this.#path(), body: { arm, share, cap } };
    const sent = await this.#send("decide", { repeatable: false }, (routes, init) =>
      routes.POST("/studies/{name}/add", { ...init, ...given }),
    );
    return sent.begins_after;
  }

  /** Take an arm off offer. */
  async retire(arm: Label): Promise<void> {
    const given = { params: this.#path(), body: { arm } };
    await this.#send("decide", { repeatable: false }, (routes, init) =>
      routes.POST("/studies/{name}/retire", { ...init, ...given }),
    );
  }

  /**
   * Promise other shares, or with `{ promise }` everything else; return by how many plays each arm was behind that is
   * not carried over.
   */
  async change(
    shares: Shares | { promise: Record<string, unknown> },
  ): Promise<Map<Label | Label[], number>> {
    const body = typeof shares.promise === "object" ? { promise: shares.promise } : { shares: shares as Shares };
    const given = { params: this.#path(), body };
    const sent = await this.#send("decide", { repeatable: false }, (routes, init) =>
      routes.POST("/studies/{name}/change", { ...init, ...given }),
    );
    return new Map(sent.dropped.map((row) => [row.label, row.plays]));
  }

  /** Return the present state: arms with their shares, the promise, rewards. */
  state(): Promise<Schemas["StateOut"]> {
    const params = this.#path();
    return this.#send("read", {}, (routes, init) => routes.GET("/studies/{name}", { ...init, params }));
  }

  /** Return the share of the decisions that each arm has had. */
  async shares(): Promise<Map<string, number>> {
    return new Map((await this.state()).arms.map((arm) => [String(arm.label), arm.share ?? 0]));
  }

  /** Return `decisions`, newest first, and in `next` the `before` of the next page. */
  decisions(
    query: NonNullable<paths["/studies/{name}/decisions"]["get"]["parameters"]["query"]> = {},
  ): Promise<Schemas["DecisionsOut"]> {
    const params = { ...this.#path(), query };
    return this.#send("read", {}, (routes, init) => routes.GET("/studies/{name}/decisions", { ...init, params }));
  }

  /** Return everything on record about one decision. */
  record(id: number): Promise<Schemas["RecordOut"]> {
    const params = { path: { name: this.name, id } };
    return this.#send("read", {}, (routes, init) => routes.GET("/studies/{name}/decisions/{id}", { ...init, params }));
  }

  /** Return shares, shortfalls and rewards over time, at about so many rounds. */
  series(points = 400): Promise<Schemas["SeriesOut"]> {
    const params = { ...this.#path(), query: { points } };
    return this.#send("read", {}, (routes, init) => routes.GET("/studies/{name}/series", { ...init, params }));
  }

  /** Return a row for each decision; the form "bandit" has propensities for off-policy estimators. */
  history(form: "log" | "bandit" = "log"): Promise<Record<string, unknown>[]> {
    const params = { ...this.#path(), query: { format: "json" as const, form } };
    return this.#send("read", LONG, (routes, init) =>
      routes.GET("/studies/{name}/history", { ...init, params }),
    ) as Promise<Record<string, unknown>[]>;
  }

  /** Return all decisions as the content of a file. */
  async download(
    format: "csv" | "parquet" | "json" = "csv",
    form: "log" | "bandit" = "log",
  ): Promise<Uint8Array> {
    const params = { ...this.#path(), query: { format, form } };
    const content = await this.#send("read", LONG, (routes, init) =>
      routes.GET("/studies/{name}/history", { ...init, params, parseAs: "arrayBuffer" }),
    );
    return new Uint8Array(content);
  }

  /** Have the service replay the whole log and check the promise at every round; `ok` says whether it held. */
  verify(): Promise<Schemas["AuditOut"]> {
    const params = this.#path();
    return this.#send("read", LONG, (routes, init) => routes.GET("/studies/{name}/audit", { ...init, params }));
  }

  #path() {
    return { path: { name: this.name } };
  }
}

/** Return the probability with which an arm was drawn, or null where it was not drawn. */
export function propensity(decision: Decision): number | null {
  return decision.probabilities?.[decision.index ?? -1] ?? null;
}

function ticketOf(ticket: Decision | string): string {
  const found: unknown = typeof ticket === "string" ? ticket : ticket?.ticket;
  if (typeof found !== "string") {
    throw new EvenhandError("TicketError", `ticket: expected a decision, or the ticket of one, got ${JSON.stringify(ticket)}`);
  }
  return found;
}
