/** An error with the name that the service or the library gives it, such as "RewardError". */
export class EvenhandError extends Error {
  /** The status of the HTTP response; undefined if no response came. */
  readonly status: number | undefined;
  /** Whether the same call may succeed later, though nothing is mended; repeat an ask with the same key. */
  readonly repeatable: boolean;

  constructor(name: string, message: string, status?: number, options: ErrorOptions & { repeatable?: boolean } = {}) {
    super(message, options);
    this.name = name;
    this.status = status;
    this.repeatable = options.repeatable ?? false;
  }
}

/** Return the error for a response that is no success, from whatever answers at the address. */
export function errorOf(sent: unknown, status?: number, safe = true): EvenhandError {
  const error = (sent as { error?: { name?: unknown; message?: unknown; repeatable?: unknown } } | null | undefined)?.error;
  const repeatable = status === undefined ? error?.repeatable === true : mayRepeat(status, safe);
  if (typeof error?.name === "string" && typeof error.message === "string") {
    return new EvenhandError(error.name, error.message, status, { repeatable });
  }
  const said = (typeof sent === "string" ? sent : JSON.stringify(sent) ?? "").slice(0, 200);
  return new EvenhandError(
    "ServiceError",
    `${status} from the service's address: ${said}; this is not the answer of an evenhand service: check the address`,
    status,
    { repeatable },
  );
}

/** Say whether a request that was answered with this status may be sent again; `safe` if it is never done twice. */
export function mayRepeat(status: number, safe: boolean): boolean {
  return status === 429 || (safe && [502, 503, 504].includes(status));
}
