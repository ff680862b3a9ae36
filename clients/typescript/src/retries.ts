import { EvenhandError, mayRepeat } from "./errors.js";

/** How requests are sent: the time that each attempt may take, and how often a request is repeated. */
export interface Sending {
  /** Milliseconds that each attempt may take. */
  timeout: number;
  /** How many times a request is repeated at most. */
  retries: number;
  /** Whether the service does nothing twice if the request arrives twice. */
  repeatable: boolean;
  /** The addresses of the service, and the place of the one in use. */
  addresses: { readonly urls: readonly string[]; place: number };
  /** Random numbers from 0 to 1, for the pauses. */
  random: () => number;
  fetch: typeof globalThis.fetch;
  /** Waits so many milliseconds. */
  pause: (milliseconds: number) => Promise<unknown>;
}

const FIRST = 100;
const LONGEST = 5_000;
const PATIENCE = 30_000;

/**
 * Return a `fetch` that repeats requests which fail on the way or come too early.
 *
 * It goes on to the next address, and pauses when all were tried. The pauses grow and are random, so that clients that
 * failed together do not come back together; where the service says how long to wait, it is waited for. A request that
 * would be done twice is repeated only if it was refused unseen.
 */
export function repeating(sending: Sending): (request: Request) => Promise<Response> {
  const { addresses } = sending;
  const { urls } = addresses;
  return async (request) => {
    const path = request.url.slice(urls[0]!.length);
    for (let attempt = 0; ; attempt++) {
      const last = attempt >= sending.retries;
      const tried = (attempt + 1) % urls.length === 0;
      const turns = Math.floor((attempt + 1) / urls.length) - 1;
      const backoff = tried ? sending.random() * Math.min(LONGEST, FIRST * 2 ** turns) : 0;
      const { place } = addresses;
      const leave = () => {
        if (addresses.place === place) addresses.place = (place + 1) % urls.length; // unless another request has left
      };
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(sending.timeout)]);
      let response: Response;
      try {
        const found = await sending.fetch(place ? new Request(urls[place] + path, request.clone()) : request.clone(), { signal });
        response = new Response(withBody(found.status) ? await found.arrayBuffer() : null, found);
      } catch (error) {
        leave();
        if (last || request.signal.aborted || !(sending.repeatable || unsent(error))) throw unanswered(sending, attempt + 1, error);
        await sending.pause(backoff);
        continue;
      }
      const told = /^\d+$/.test(response.headers.get("Retry-After") ?? "") ? Number(response.headers.get("Retry-After")) : 0;
      const again = mayRepeat(response.status, sending.repeatable);
      if (again && response.status !== 429) leave();
      if (last || !again || told * 1000 > PATIENCE) return response;
      await sending.pause(tried || response.status === 429 ? told * 1000 + backoff : 0);
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

function unanswered(sending: Sending, attempts: number, error: unknown): EvenhandError {
  const cause = (error as Error).cause as Error | undefined;
  const times = attempts === 1 ? "one attempt" : `${attempts} attempts`;
  const why = cause?.message || (error as Error).message;
  return new EvenhandError(
    "ServiceError",
    `no answer from the service at ${sending.addresses.urls.join(" or ")} after ${times}: ${why}; ` +
      "check that it runs (`evenhand serve`) and that the address is right",
    undefined,
    { cause: error, repeatable: sending.repeatable || unsent(error) },
  );
}
