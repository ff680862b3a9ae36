import createClient, { type Client as Routes } from "openapi-fetch";

import { EvenhandError, errorOf } from "./errors.js";
import { type Sending, repeating } from "./retries.js";
import type { components, paths } from "./service.js";
import { type Reader, Study } from "./study.js";

type Schemas = components["schemas"];
type Role = "decide" | "report" | "read";

const ALSO: Record<Role, readonly string[]> = { decide: ["both"], report: ["both"], read: [] };
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

export interface ClientOptions {
  /** The text of a key, or several of different roles; from the environment variable EVENHAND_KEY by default. */
  key?: string | readonly string[];
  /** Milliseconds that each attempt may take; 30 seconds by default. */
  timeout?: number;
  /** How many times a request is repeated at most; 4 by default. */
  retries?: number;
  /** Random numbers from 0 to 1, for the pauses. */
  random?: () => number;
  /** Used in place of the global `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Waits so many milliseconds, in place of a timer. */
  pause?: (milliseconds: number) => Promise<unknown>;
}

/**
 * A connection to `evenhand serve`.
 *
 * It repeats requests that fail on the way, and those that the service answers with 429 or 503; a repeated ask returns
 * the same decision, and a repeated tell counts once. Of several addresses it stays with one as long as that answers.
 */
export class Client {
  readonly #keys: readonly string[];
  readonly #sending: Sending;
  readonly #routes: Routes<paths>;

  /** The address of the service, or those of several services on one store, also separated by spaces. */
  constructor(url: string | readonly string[] = environment("EVENHAND_URL"), options: ClientOptions = {}) {
    const urls = (typeof url === "string" ? url.trim().split(/\s+/) : url).map(checkUrl);
    if (urls.length === 0) checkUrl("");
    this.#keys = readKeys(options.key ?? environment("EVENHAND_KEY"));
    this.#sending = {
      timeout: options.timeout ?? 30_000,
      retries: options.retries ?? 4,
      repeatable: true,
      addresses: { urls, place: 0 },
      random: options.random ?? Math.random,
      fetch: options.fetch ?? globalThis.fetch,
      pause: options.pause ?? ((milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))),
    };
    this.#routes = createClient<paths>({ baseUrl: urls[0]!, bodySerializer: serialize });
  }

  /** The address that answered last, or that is tried next. */
  get url(): string {
    const { urls, place } = this.#sending.addresses;
    return urls[place]!;
  }

  /** Return a study by its name; nothing is sent yet. */
  study(name: string): Study {
    return new Study(checkName(name), (role, more, send) => this.#send(role, more, send));
  }

  /** Return the outline of every study of the service. */
  async studies(): Promise<Schemas["StudyOut"][]> {
    return (await this.#send("read", {}, (routes, init) => routes.GET("/studies", init))).studies;
  }

  /** Create a study: `policy` names one beside its arguments, as `{policy: "quotas/fair-ucb", shares: {...}}`. */
  async create(
    name: string,
    policy: Record<string, unknown>,
    options: { expireAfter?: number | string; expireReward?: number } = {},
  ): Promise<Study> {
    const { expireAfter: expire_after, expireReward: expire_reward } = options;
    const body = { name: checkName(name), policy, expire_after, expire_reward };
    const more = { repeatable: false, timeout: 120_000 };
    await this.#send("decide", more, (routes, init) => routes.POST("/studies", { ...init, body }));
    return this.study(name);
  }

  /** Send a request until it is answered, and return the body of a good response. */
  readonly #send: Reader = async (role, more, send) => {
    const init = { fetch: repeating({ ...this.#sending, ...more }), headers: { Authorization: `Bearer ${this.#key(role)}` } };
    let answer: { data?: unknown; error?: unknown; response: Response };
    try {
      answer = await send(this.#routes, init);
    } catch (error) {
      if (error instanceof EvenhandError) throw error;
      throw new EvenhandError("ServiceError", `the answer is not one of an evenhand service: ${error}`, 200, { cause: error });
    }
    if (!answer.response.ok || answer.data === undefined) throw errorOf(answer.error, answer.response.status, more.repeatable);
    return answer.data as never;
  };

  /** Return the key for a request that needs a role: the first that has it, else the first of all. */
  #key(role: Role): string {
    const known = [role, ...ALSO[role]].map((one) => this.#keys.find((key) => key.startsWith(`eh_${one}_`)));
    return known.find((key) => key !== undefined) ?? this.#keys[0]!;
  }
}

function environment(name: string): string {
  return globalThis.process?.env?.[name] ?? "";
}

function checkUrl(url: string): string {
  if (!/^https?:\/\/[^@/]+(\/|$)/.test(url)) {
    const mend = "give the address of a service, such as http://localhost:8000, or set EVENHAND_URL";
    throw new EvenhandError("ArgumentError", `url: expected an address without a user and a password; ${mend}`);
  }
  return new URL(url).href.replace(/\/+$/, "");
}

function readKeys(given: string | readonly string[]): readonly string[] {
  const keys = typeof given === "string" ? given.split(/[\s,]+/).filter((key) => key !== "") : given;
  if (keys.length === 0 || !keys.every((key) => /^[!-~]+$/.test(key))) {
    throw new EvenhandError("ArgumentError", "key: expected the text of a key, or of several; pass key or set EVENHAND_KEY");
  }
  return keys;
}

function checkName(name: string): string {
  if (!NAME.test(name)) {
    throw new EvenhandError(
      "ArgumentError",
      `name: expected up to 100 letters, digits, - and _, a letter or a digit first, got ${JSON.stringify(name)}`,
    );
  }
  return name;
}

/** Return a body in JSON; JSON itself would turn what is not finite into null. */
function serialize(body: unknown): string {
  return JSON.stringify(body, (field, value: unknown) => {
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new EvenhandError("ArgumentError", `${field}: expected a finite number, got ${value}`);
    }
    return value;
  });
}
