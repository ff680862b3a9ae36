// The service's answers. Everything is read with the key; nothing is written.

const PATIENCE = 10_000;

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

  owed(name) {
    return this.get(`${of(name)}/owed`, { limit: 500 });
  }

  decisions(name, filters) {
    return this.get(`${of(name)}/decisions`, filters);
  }

  decision(name, id) {
    return this.get(`${of(name)}/decisions/${encodeURIComponent(id)}`);
  }

  async get(path, query = {}) {
    const address = new URL(path, document.baseURI);
    address.hash = "";
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined && value !== "") address.searchParams.set(name, value);
    }
    let answer;
    try {
      answer = await fetch(address, {
        headers: { Authorization: `Bearer ${this.key}`, Accept: "application/json" },
        cache: "no-cache",
        signal: AbortSignal.timeout(PATIENCE),
      });
    } catch {
      throw new Unreachable();
    }
    if (answer.status >= 500) throw new Unreachable();
    const body = await answer.json().catch(() => null);
    if (answer.ok && body !== null) return body;
    const error = body?.error ?? {};
    const wait = Number(answer.headers.get("Retry-After")) || null;
    throw new Refusal(answer.status, error.name ?? `HTTP ${answer.status}`, error.message ?? answer.statusText, wait);
  }
}

const of = (name) => `studies/${encodeURIComponent(name)}`;
