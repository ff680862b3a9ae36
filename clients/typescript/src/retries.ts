import { EvenhandError } from "./errors.js";

/** How requests are sent: the time that each attempt may take, and how often a request is repeated. */
export interface Sending {
  /** Milliseconds that each attempt may take. */
  timeout: number;
  /** How many times a request is repeated at most. */
  retries: number;
  /** Whether the service does nothing twice if the request arrives twice. */
  repeatable: boolean;
  /** Random numbers from 0 to 1, for the pauses. */
  random: () => number;
  fetch: typeof globalThis.fetch;
  /** Waits so many milliseconds. */
  pause: (milliseconds: number) => Promise<unknown>;
}

const FIRST = 100;
const LONGEST = 5_000;
const PATIENCE = 30_000;
const AGAIN = [429, 502, 503, 504];

/**
 * Return a `fetch` that repeats requests which fail on the way or come too early.
 *
 * The pauses grow and are random, so that clients that failed together do not come back together; where the service
 * says how long to wait, it is waited for. A request that would be done twice is repeated only if it was refused unseen.
 */
export function repeating(sending: Sending): (request: Request) => Promise<Response> {
  return async (request) => {
    for (let attempt = 0; ; attempt++) {
      const last = attempt >= sending.retries;
      const backoff = sending.random() * Math.min(LONGEST, FIRST * 2 ** attempt);
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(sending.timeout)]);
      let response: Response;
      try {
        const found = await sending.fetch(request.clone(), { signal });
        response = new Response(withBody(found.status) ? await found.arrayBuffer() : null, found);
      } catch (error) {
        if (last || request.signal.aborted || !(sending.repeatable || unsent(error))) throw unanswered(request, attempt + 1, error);
        await sending.pause(backoff);
        continue;
      }
      const told = /^\d+$/.test(response.headers.get("Retry-After") ?? "") ? Number(response.headers.get("Retry-After")) : 0;
      const again = AGAIN.includes(response.status) && (sending.repeatable || response.status === 429);
      if (last || !again || told * 1000 > PATIENCE) return response;
      await sending.pause(told * 1000 + backoff);
    }
  };
}

function withBody(status: number): boolean {
  return ![204, 205, 304].includes(status);
}

/** Say whether a request failed before it was sent. */
function unsent(error: unknown): boolean {
  const code = ((error as Error).cause as { code?: string } | undefined)?.code;
  return code !== undefined && ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"].includes(code);
}

function unanswered(request: Request, attempts: number, error: unknown): EvenhandError {
  const cause = (error as Error).cause as Error | undefined;
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  const why = cause?.message || (error as Error).message;
  return new EvenhandError(
    "ServiceError",
    `no answer from the service at ${new URL(request.url).origin} after ${times}: ${why}; ` +
      "check that it runs (`evenhand serve`) and that the address is right",
    undefined,
    { cause: error },
  );
}
