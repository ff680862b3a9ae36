// Against the service at EVENHAND_URL with the keys in EVENHAND_KEY: `pytest tests/client/test_typescript.py` starts one.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";

import { Client, EvenhandError, propensity } from "../src/index.js";

const POLICY = { policy: "quotas/deadline-learn", learner: "learners/ucb1", shares: { a: 0.2, b: 0.3 }, seed: 1 };

function fresh(client = new Client()) {
  return client.create(`ads-${randomUUID()}`, POLICY);
}

function named(name: string, said: RegExp = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof EvenhandError);
    assert.equal(error.name, name);
    assert.match(error.message, said);
    return true;
  };
}

test("a conversation", async () => {
  const study = await fresh();
  const decision = await study.ask();
  assert.equal(decision.round, 1);
  assert.ok(["a", "b"].includes(decision.arm as string));
  assert.ok(decision.reason);
  assert.equal(propensity({ ticket: "", id: 1, index: 1, probabilities: [0.25, 0.75] }), 0.75);
  assert.equal(await study.tell(decision, 1), "told");
  assert.equal(await study.tell(decision.ticket, 1), "already told");
  await assert.rejects(study.tell(decision, 0), named("ContradictionError", /told before/));
  assert.equal(await study.forget(await study.ask()), "forgotten");
  assert.equal((await study.verify()).ok, true);
});

test("a key names a decision, alone and in batches", async () => {
  const study = await fresh();
  const first = await study.ask({ key: "visitor-1" });
  assert.deepEqual(await study.ask({ key: "visitor-1" }), first);
  const batch = await study.askMany(3, { key: "night" });
  assert.deepEqual(await study.askMany(2, { key: "night" }), batch.slice(0, 2));
  assert.equal((await study.state()).decisions, 4);
});

test("batches", async () => {
  const study = await fresh();
  const rounds = await study.askMany([{ available: ["a"] }, { available: ["nobody"] }]);
  const [good, bad] = rounds;
  assert.ok(good && !(good instanceof EvenhandError) && good.arm === "a");
  assert.ok(bad instanceof EvenhandError && bad.message.includes("nobody"));
  const told = await study.tellMany([[good, 1], [good.ticket, 0]]);
  assert.equal(told[0], "told");
  assert.ok(told[1] instanceof EvenhandError && told[1].name === "ContradictionError");
});

test("promises change, and what is read shows it", async () => {
  const study = await fresh();
  assert.equal(await study.add("c", "1/10", 0.9), 0);
  await study.retire("a");
  assert.equal((await study.change({ b: 0.5, c: 0.1 })).size, 0);
  assert.equal((await study.change({ promise: { shares: { b: 0.25 }, caps: { c: 0.5 }, tolerance: 1 } })).size, 0);
  for (const decision of await study.askMany(10)) assert.ok(!(decision instanceof EvenhandError));
  assert.equal((await study.shares()).get("a"), 0);
  assert.equal((await study.decisions({ limit: 4 })).decisions.length, 4);
  assert.equal((await study.record(1)).id, 1);
  assert.ok((await study.series(10)).round.length > 0);
  assert.equal((await study.history()).length, 10);
  assert.equal(new TextDecoder().decode(await study.download("csv")).trim().split("\n").length, 11);
  assert.ok((await new Client().studies()).some((one) => one.name === study.name));
});

test("refusals have the names and the words of the service", async () => {
  const client = new Client();
  const study = await fresh(client);
  await assert.rejects(client.study("nowhere").ask(), named("UnknownStudyError", /nowhere/));
  await assert.rejects(study.tell(await study.ask(), 7), named("RewardError", /scale rewards/));
  await assert.rejects(study.tell(await study.ask(), NaN), named("ArgumentError", /reward: expected a finite number/));
  await assert.rejects(study.ask({ key: " space first" }), named("ArgumentError", /key: expected/));
  await assert.rejects(study.tell(17 as unknown as string, 1), named("TicketError", /17/));
  await assert.rejects(client.create(study.name, POLICY), named("ConflictError", /choose another name/));
  assert.throws(() => client.study("../keys"), named("ArgumentError", /name: expected/));
  assert.throws(() => new Client("localhost:8000"), named("ArgumentError", /url: expected/));
  assert.throws(() => new Client("http://x", { key: [] }), named("ArgumentError", /key: expected/));
});

test("keys are not shown", () => {
  assert.ok(!inspect(new Client("http://x", { key: "eh_read_1_secret" }), { depth: 9 }).includes("secret"));
});

/** A network that does with the n-th request what the n-th word says. */
function flaky(words: string[]) {
  const network = Object.assign(
    async (...given: Parameters<typeof fetch>) => {
      const word = words.shift() ?? "ok";
      if (word === "lost request") throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
      const response = await fetch(...given);
      network.carried += 1;
      if (word === "lost reply") throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
      return response;
    },
    { carried: 0 },
  );
  return network;
}

test("where replies get lost, no decision is made twice and no report counts twice", async () => {
  const name = (await fresh()).name;
  const words = Array.from({ length: 60 }, (_, i) => ["lost reply", "ok", "lost request", "lost reply"][(i * 7) % 4]!);
  const network = flaky(words);
  const study = new Client(undefined, { fetch: network, retries: 10, pause: async () => undefined }).study(name);
  for (let i = 0; i < 15; i++) await study.tell(await study.ask(), 1);
  assert.ok(network.carried > 35);
  const { decisions, told } = await new Client().study(name).state();
  assert.deepEqual([decisions, told], [15, 15]);
});

test("what would be done twice is repeated only if it was not sent", async () => {
  const pause = async () => undefined;
  const client = new Client(undefined, { fetch: flaky(["lost request", "lost reply"]), pause });
  await assert.rejects(fresh(client), named("ServiceError", /no answer from the service at .* after 2 attempts/));
});

test("a service that says how long to wait is waited for, and nobody waits for hours", async () => {
  const pauses: number[] = [];
  const answer = (seconds: string) => async () =>
    Response.json({ error: { name: "TooFastError", message: "too many requests" } }, { status: 429, headers: { "Retry-After": seconds } });
  const options = { key: "k", retries: 2, random: () => 0.5, pause: async (ms: number) => pauses.push(ms) };
  const slow = new Client("http://x", { ...options, fetch: answer("3") }).study("ads");
  await assert.rejects(slow.ask(), named("TooFastError"));
  assert.deepEqual(pauses, [3050, 3100]);
  const never = new Client("http://x", { ...options, fetch: answer("3600") }).study("ads");
  await assert.rejects(never.ask(), named("TooFastError"));
  assert.equal(pauses.length, 2);
});

test("of several addresses one that answers is used", async () => {
  const asked: string[] = [];
  const pauses: number[] = [];
  const answer = async (request: Request | URL | string) => {
    const url = new URL((request as Request).url);
    asked.push(url.host);
    if (url.host === "one") throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
    if (url.host === "two") return Response.json({ error: { name: "StoreError", message: "-", repeatable: true } }, { status: 503 });
    return Response.json({ ticket: "ads.1.00", id: 1 });
  };
  const options = { key: "k", fetch: answer as typeof fetch, pause: async (ms: number) => pauses.push(ms) };
  const client = new Client("http://one http://two http://three", options);
  for (let i = 0; i < 2; i++) await client.study("ads").ask();
  assert.deepEqual([asked, pauses, client.url], [["one", "two", "three", "three"], [0, 0], "http://three"]);
  await assert.rejects(new Client(["http://one", "http://two"], options).study("ads").ask(), (error: unknown) => {
    assert.ok(error instanceof EvenhandError && error.repeatable && error.name === "ServiceError");
    assert.match(error.message, /the service at http:\/\/one or http:\/\/two after 5 attempts/);
    return true;
  });
  await assert.rejects(new Client("http://two", options).create("ads", POLICY), (error: unknown) => {
    assert.ok(error instanceof EvenhandError && !error.repeatable && error.name === "StoreError");
    return true;
  });
});

test("a service that says to wait for hours is left, and one that is asked too fast is not", async () => {
  const asked: string[] = [];
  const pauses: number[] = [];
  const answering = (statuses: number[], seconds?: string) => async (request: Request | URL | string) => {
    asked.push(new URL((request as Request).url).host);
    const status = statuses.shift() ?? 200;
    const headers = seconds && status !== 200 ? { "Retry-After": seconds } : undefined;
    return Response.json({ ticket: "ads.1.00", id: 1, error: { name: "TooFastError", message: "-" } }, { status, headers });
  };
  const ask = (statuses: number[], seconds?: string) => {
    const options = { key: "k", random: () => 0.5, pause: async (ms: number) => pauses.push(ms) };
    return new Client("http://one http://two", { ...options, fetch: answering(statuses, seconds) as typeof fetch }).study("ads").ask();
  };
  await ask([429], "3600");
  await assert.rejects(ask([429, 503], "3600"));
  assert.deepEqual([asked.splice(0), pauses.splice(0)], [["one", "two", "one", "two"], [0, 0]]);
  await ask([429, 429]);
  assert.deepEqual([asked, pauses], [["one", "one", "one"], [50, 50]]);
});

test("the table of errors says which may be repeated", async () => {
  const rows = readFileSync("../../docs/clients.md", "utf8").matchAll(/^\| .+ \| ([0-9, ;]+) \| (yes|no)/gm);
  const table = [...rows].flatMap(([, statuses, said]) => statuses!.match(/\d+/g)!.map((status) => [+status, said === "yes"] as const));
  assert.ok(table.length > 14);
  for (const [status, again] of table) {
    let asked = 0;
    const answer = async () => (asked++, Response.json({ error: { name: "SomeError", message: "-" } }, { status }));
    const study = new Client("http://x", { key: "k", retries: 1, fetch: answer, pause: async () => undefined }).study("ads");
    const error: unknown = await study.ask().catch((raised: unknown) => raised);
    assert.ok(error instanceof EvenhandError && error.repeatable === again, `${status}`);
    assert.equal(asked > 1, again && status !== 408, `${status}`);
  }
});

test("other servers are told from the service", async () => {
  for (const status of [200, 404]) {
    const client = new Client("http://x", { key: "k", fetch: async () => new Response("<html>It works!", { status }) });
    await assert.rejects(client.study("ads").ask(), named("ServiceError", /evenhand service/));
  }
});
