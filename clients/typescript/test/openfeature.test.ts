// Against the service at EVENHAND_URL with the keys in EVENHAND_KEY, through the official SDK.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";

import { ErrorCode, OpenFeature } from "@openfeature/server-sdk";

import { Client } from "../src/index.js";
import { EvenhandProvider, type ProviderOptions } from "../src/openfeature.js";

const evenhand = new Client();

async function flags(arms: string[], options: ProviderOptions = {}) {
  const shares = Object.fromEntries(arms.map((arm) => [arm, 0.2]));
  const policy = { policy: "quotas/deadline-learn", learner: "learners/ucb1", shares, seed: 1 };
  const study = await evenhand.create(`flag-${randomUUID()}`, policy);
  const provider = new EvenhandProvider(evenhand, options);
  await OpenFeature.setProviderAndWait(study.name, provider);
  return { study, provider, flag: study.name, client: OpenFeature.getClient(study.name) };
}

test("a flag is a decision of the study of its name", async () => {
  const { study, flag, client } = await flags(["red", "blue"]);
  const details = await client.getStringDetails(flag, "none", { targetingKey: "ann" });
  assert.ok(["red", "blue"].includes(details.value));
  assert.equal(details.variant, details.value);
  assert.equal(details.reason, "SPLIT");
  assert.equal((await study.record(1)).status, "open");
  assert.match(details.flagMetadata["ticket"] as string, new RegExp(`^${flag}\\.1\\.`));
});

test("a tracking event is the reward; a late or repeated one does no harm", async () => {
  const { study, provider, flag, client } = await flags(["red", "blue"], { events: { purchase: "unset" } });
  const ann = { targetingKey: "ann" };
  const { flagMetadata } = await client.getStringDetails(flag, "none", ann);
  client.track(flag, ann, { value: 0.5 });
  client.track(flag, { targetingKey: "bob" }, { value: 1 });
  client.track("unknown", ann);
  await provider.onClose();
  client.track(flag, ann, { value: 0.5 });
  client.track(flag, ann, { value: 1 });
  client.track("anything", {}, { value: 0.5, ticket: flagMetadata["ticket"] as string });
  await provider.onClose();
  const { told, reward } = await study.state();
  assert.deepEqual([told, reward?.mean], [1, 0.5]);
});

test("events have the flags that the provider names", async () => {
  const events: Record<string, string> = {};
  const { study, provider, flag, client } = await flags(["red", "blue"], { events });
  events["purchase"] = flag;
  await client.getStringValue(flag, "none", { targetingKey: "ann" });
  client.track("purchase", { targetingKey: "ann" });
  await provider.onClose();
  assert.equal((await study.record(1))["reward"], 1);
});

test("sticky flags give a targeting key the same decision", async () => {
  const { study, flag, client } = await flags(["red", "blue"], { sticky: true });
  const first = await client.getStringDetails(flag, "none", { targetingKey: "ann" });
  const second = await client.getStringDetails(flag, "none", { targetingKey: "ann" });
  assert.deepEqual(second.flagMetadata, first.flagMetadata);
  assert.equal((await study.record(1)).key, "openfeature/ann");
  await client.getStringDetails(flag, "none", { targetingKey: "Frau Müller" });
  assert.equal((await study.record(2)).key, "openfeature/b53b9b67f20f0bb7b8c0c624d604604cdd3bfd6d196cbb72c0e7e88853fa7bec");
  const missing = await client.getStringDetails(flag, "none");
  assert.deepEqual([missing.value, missing.errorCode], ["none", ErrorCode.TARGETING_KEY_MISSING]);
});

test("a sticky visitor gets her first decision whatever else is sent", async () => {
  const { study, flag, client } = await flags(["red", "blue"], { sticky: true });
  const seen = (shown: object) => client.getStringDetails(flag, "none", { targetingKey: "ann", ...shown });
  const first = await seen({ available: ["red"] });
  for (const shown of [{ available: ["blue"] }, { available: ["green"] }, { available: "red" }, { segment: 7.5 }, {}]) {
    assert.deepEqual((await seen(shown)).flagMetadata, first.flagMetadata);
  }
  const refused = await client.getStringDetails(flag, "none", { targetingKey: "bob", available: ["green"] });
  assert.deepEqual([refused.value, refused.errorCode], ["none", ErrorCode.INVALID_CONTEXT]);
  assert.equal((await study.state()).decisions, 1);
});

test("a sticky visitor gets her first decision where what the round shows cannot be observed", async () => {
  const observe: ProviderOptions["observe"] = (_, context) => {
    if (!("hour" in context)) throw new Error("no hour");
    return {};
  };
  const { study, flag, client } = await flags(["red", "blue"], { sticky: true, observe });
  const first = await client.getStringDetails(flag, "none", { targetingKey: "ann", hour: 9 });
  const again = await client.getStringDetails(flag, "none", { targetingKey: "ann" });
  assert.deepEqual(again.flagMetadata, first.flagMetadata);
  const unseen = await client.getStringDetails(flag, "none", { targetingKey: "bob" });
  assert.deepEqual([unseen.value, unseen.errorCode], ["none", ErrorCode.GENERAL]);
  assert.equal((await study.state()).decisions, 1);
});

test("booleans, numbers and objects", async () => {
  const dark = await flags(["on", "off"]);
  assert.equal(typeof (await dark.client.getBooleanDetails(dark.flag, false)).value, "boolean");
  const size = await flags(["10", "20"]);
  assert.ok([10, 20].includes(await size.client.getNumberValue(size.flag, 0)));
  const whole = await size.client.getObjectDetails(size.flag, {});
  assert.ok(["10", "20"].includes((whole.value as { arm: string }).arm));
  const mismatch = await dark.client.getNumberDetails(dark.flag, 7);
  assert.deepEqual([mismatch.value, mismatch.errorCode], [7, ErrorCode.TYPE_MISMATCH]);
  assert.equal((await dark.study.record(2)).status, "forgotten");
});

test("the evaluation context says what the round shows", async () => {
  const { flag, client } = await flags(["red", "blue"]);
  assert.equal(await client.getStringValue(flag, "none", { available: ["blue"] }), "blue");
  const refused = await client.getStringDetails(flag, "none", { available: ["green"] });
  assert.deepEqual([refused.value, refused.errorCode], ["none", ErrorCode.INVALID_CONTEXT]);
});

test("what fails gives the default and says why", async () => {
  const { client } = await flags(["red", "blue"]);
  const unknown = await client.getStringDetails("nowhere", "none");
  assert.deepEqual([unknown.value, unknown.errorCode], ["none", ErrorCode.FLAG_NOT_FOUND]);
  const dead = new EvenhandProvider(new Client("http://127.0.0.1:9", { key: "k", retries: 0 }));
  await OpenFeature.setProviderAndWait("dead", dead);
  const failed = await OpenFeature.getClient("dead").getStringDetails("ads", "none");
  assert.deepEqual([failed.value, failed.errorCode], ["none", ErrorCode.GENERAL]);
  assert.match(failed.errorMessage ?? "", /evenhand serve/);
});
