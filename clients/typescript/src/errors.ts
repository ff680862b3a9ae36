/** An error with the name that the service or the library gives it, such as "RewardError". */
export class EvenhandError extends Error {
  /** The status of the HTTP response; undefined if no response came. */
  readonly status: number | undefined;

  constructor(name: string, message: string, status?: number, options?: ErrorOptions) {
    super(message, options);
    this.name = name;
    this.status = status;
  }
}

/** Return the error for a response that is no success, from whatever answers at the address. */
export function errorOf(sent: unknown, status?: number): EvenhandError {
  const error = (sent as { error?: { name?: unknown; message?: unknown } } | null | undefined)?.error;
  if (typeof error?.name === "string" && typeof error.message === "string") {
    return new EvenhandError(error.name, error.message, status);
  }
  const said = (typeof sent === "string" ? sent : JSON.stringify(sent) ?? "").slice(0, 200);
  return new EvenhandError(
    "ServiceError",
    `${status} from the service's address: ${said}; this is not the answer of an evenhand service: check the address`,
    status,
  );
}
