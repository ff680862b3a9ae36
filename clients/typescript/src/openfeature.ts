/** A provider of OpenFeature flags: a flag is a decision of the study of its name, a tracking event its reward. */

import {
  type EvaluationContext,
  FlagNotFoundError,
  GeneralError,
  InvalidContextError,
  type JsonValue,
  type Logger,
  type Provider,
  type ResolutionDetails,
  StandardResolutionReasons,
  TargetingKeyMissingError,
  type TrackingEventDetails,
  TypeMismatchError,
} from "@openfeature/server-sdk";

import type { Client } from "./client.js";
import { EvenhandError } from "./errors.js";
import { type Decision, type Shown, propensity } from "./study.js";

export interface ProviderOptions {
  /**
   * Whether a targeting key always gets its first decision of a flag, whatever the context says later: it becomes the
   * idempotency key.
   */
  sticky?: boolean;
  /** The flag that each tracking event rewards; an event that is not named here rewards the flag of its own name. */
  events?: Record<string, string>;
  /** What a round shows, of the evaluation context: by default its contexts, groups, available and segment. */
  observe?: (flag: string, context: EvaluationContext) => Shown;
  /** How many tickets are remembered for tracking events; the oldest are forgotten first. */
  remember?: number;
}

const SWITCHES: Record<string, boolean> = { true: true, on: true, false: false, off: false };
const OUTDATED = ["ClosedTicketError", "ContradictionError", "UnknownTicketError", "ForeignTicketError"];

/** Resolves the flag `ads` by a decision of the study `ads`. */
export class EvenhandProvider implements Provider {
  readonly metadata = { name: "evenhand" } as const;
  readonly runsOn = "server";
  readonly #client: Client;
  readonly #options: Required<ProviderOptions>;
  readonly #tickets = new Map<string, string>();
  readonly #reports = new Set<Promise<void>>();
  #logger: Logger | undefined;

  constructor(client: Client, options: ProviderOptions = {}) {
    this.#client = client;
    this.#options = { sticky: false, events: {}, observe: shownIn, remember: 100_000, ...options };
  }

  resolveStringEvaluation(flag: string, _: string, context: EvaluationContext, logger: Logger) {
    return this.#resolve(flag, context, logger, (decision) => String(decision.arm));
  }

  resolveBooleanEvaluation(flag: string, _: boolean, context: EvaluationContext, logger: Logger) {
    return this.#resolve(flag, context, logger, (decision) => SWITCHES[String(decision.arm).toLowerCase()]);
  }

  resolveNumberEvaluation(flag: string, _: number, context: EvaluationContext, logger: Logger) {
    return this.#resolve(flag, context, logger, (decision) => {
      const text = String(decision.arm).trim();
      return text !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
    });
  }

  resolveObjectEvaluation<T extends JsonValue>(flag: string, _: T, context: EvaluationContext, logger: Logger) {
    return this.#resolve(flag, context, logger, (decision) => decision as unknown as T);
  }

  /**
   * Tell the value of an event (1 by default) as the reward of the last decision for its targeting key, or of the
   * `ticket` in its details. It is sent in the background; `onClose` waits for it.
   */
  track(event: string, context: EvaluationContext, details: TrackingEventDetails = {}): void {
    const flag = this.#options.events[event] ?? event;
    const ticket = details["ticket"] ?? this.#tickets.get(place(flag, context.targetingKey ?? ""));
    if (typeof ticket !== "string") return;
    const report = this.#tell(ticket, details.value ?? 1).finally(() => this.#reports.delete(report));
    this.#reports.add(report);
  }

  async onClose(): Promise<void> {
    await Promise.all(this.#reports);
  }

  async #tell(ticket: string, reward: number): Promise<void> {
    try {
      await this.#client.study(ticket.split(".")[0]!).tell(ticket, reward);
    } catch (error) {
      const known = error instanceof EvenhandError && OUTDATED.includes(error.name);
      this.#logger?.[known ? "debug" : "warn"](`evenhand: the event for ${ticket} was not told: ${error}`);
    }
  }

  async #resolve<T>(
    flag: string,
    context: EvaluationContext,
    logger: Logger,
    valueOf: (decision: Decision) => T | undefined,
  ): Promise<ResolutionDetails<T>> {
    this.#logger = logger;
    const decision = await this.#decide(flag, context);
    const value = valueOf(decision);
    if (value === undefined) {
      if (!this.#options.sticky) await this.#client.study(flag).forget(decision).catch(() => undefined);
      throw new TypeMismatchError(`the study ${flag} decided for ${JSON.stringify(decision.arm)}, which is of another type`);
    }
    if (context.targetingKey) this.#remember(place(flag, context.targetingKey), decision.ticket);
    const chance = propensity(decision);
    const flagMetadata = {
      ticket: decision.ticket,
      ...(decision.reason != null && { reason: decision.reason }),
      ...(decision.reason_code != null && { reason_code: decision.reason_code }),
      ...(chance !== null && { propensity: chance }),
    };
    return { value, variant: String(decision.arm), reason: StandardResolutionReasons.SPLIT, flagMetadata };
  }

  async #decide(flag: string, context: EvaluationContext): Promise<Decision> {
    if (this.#options.sticky && !context.targetingKey) {
      throw new TargetingKeyMissingError("a sticky flag needs a targeting key");
    }
    const own = this.#options.sticky ? { key: await keyOf(context.targetingKey!), sticky: true } : undefined;
    try {
      return await this.#client.study(flag).ask({ ...this.#options.observe(flag, context), ...own });
    } catch (error) {
      const unknown = error instanceof EvenhandError && error.name === "UnknownStudyError";
      if (unknown) throw new FlagNotFoundError(error.message);
      // Without an offer no decision is taken: it is refused again, unless the visitor has had one before, whom no
      // failure, of `observe` either, gives another.
      const first = own && (await this.#client.study(flag).ask({ available: [], ...own }).catch(() => undefined));
      if (first) return first;
      if (!(error instanceof EvenhandError)) throw error;
      if (error.status !== 422 && error.name !== "ArgumentError") throw new GeneralError(error.message);
      throw new InvalidContextError(error.message);
    }
  }

  #remember(at: string, ticket: string): void {
    this.#tickets.delete(at);
    this.#tickets.set(at, ticket);
    if (this.#tickets.size > this.#options.remember) this.#tickets.delete(this.#tickets.keys().next().value!);
  }
}

function shownIn(_: string, context: EvaluationContext): Shown {
  const { contexts, groups, available, segment } = context as unknown as Shown;
  return { contexts, groups, available, segment };
}

function place(flag: string, targetingKey: string): string {
  return JSON.stringify([flag, targetingKey]);
}

/** Return the idempotency key for a targeting key: the same as the provider in Python uses. */
async function keyOf(targetingKey: string): Promise<string> {
  if (/^[!-~]{1,80}$/.test(targetingKey)) return `openfeature/${targetingKey}`;
  const digest = await globalThis.crypto.subtle.digest("SHA-256", new TextEncoder().encode(targetingKey));
  return `openfeature/${Buffer.from(digest).toString("hex")}`;
}
