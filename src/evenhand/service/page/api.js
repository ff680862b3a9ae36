// The service's answers, read with the key of the page.

const PATIENCE = 10_000;
const LONG = 600_000;

/** An answer that is an error of the service, with its own name and words. */
export class Refusal extends Error {
  constructor(status, name, message, wait = null) {
    super(message);
    this.status = status;
    this.name = name;
    this.wait = wait;
  }
}

/** The server did not answer, or failed. */
export class Unreachable extends Error {}

export class Service {
  constructor(key) {
    this.key = key;
  }

  studies() {
    return this.get("studies");
  }

  study(name) {
    return this.get(of(name));
  }

  series(name) {
    return this.get(`${of(name)}/series`, { points: 400 });
  }

  /** The series from round `first` to `last`, read anew: this takes a while on a long log. */
  closeUp(name, { first, last, points }) {
    return this.get(`${of(name)}/series`, { first, last, points }, LONG);
  }

  /** Verify the whole log: this takes a while on a long one. */
  audit(name) {
    return this.get(`${of(name)}/audit`, {}, LONG);
  }

  /** The log as a file: {blob, name}. */
  async history(name, format, form) {
    const answer = await this.send(`${of(name)}/history`, { format, form }, LONG);
    if (!answer.ok) throw await refusal(answer);
    return { blob: await answer.blob(), name: `${name}-${form}.${format}` };
  }

  forced(name) {
    return this.get(`${of(name)}/forced`, { limit: 500 });
  }

  decisions(name, filters) {
    return this.get(`${of(name)}/decisions`, filters);
  }

  decision(name, id) {
    return this.get(`${of(name)}/decisions/${encodeURIComponent(id)}`);
  }

  async get(path, query = {}, patience = PATIENCE) {
    const answer = await this.send(path, query, patience);
    if (answer.status >= 500 && patience === PATIENCE) throw new Unreachable();
    if (!answer.ok) throw await refusal(answer);
    const body = await answer.json().catch(() => null);
    if (body === null) throw new Refusal(answer.status, `HTTP ${answer.status}`, answer.statusText);
    return body;
  }

  async send(path, query, patience) {
    const address = new URL(path, document.baseURI);
    address.hash = "";
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined && value !== "") address.searchParams.set(name, value);
    }
    try {
      return await fetch(address, {
        headers: { Authorization: `Bearer ${this.key}`, Accept: "application/json" },
        cache: "no-cache",
        signal: AbortSignal.timeout(patience),
      });
    } catch {
      throw new Unreachable();
    }
  }
}

async function refusal(answer) {
  const error = (await answer.json().catch(() => null))?.error ?? {};
  const wait = Number(answer.headers.get("Retry-After")) || null;
  return new Refusal(answer.status, error.name ?? `HTTP ${answer.status}`, error.message ?? answer.statusText, wait);
}

const of = (name) => `studies/${encodeURIComponent(name)}`;
