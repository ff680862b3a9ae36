// Check the proof of a study, or the receipt of one decision: verify.py in JavaScript, for verify.html.
//
// The format is described in docs/evidence.md. Nothing is loaded, and nothing is sent anywhere.
"use strict";

const FORMAT = "evenhand proof 1";
const CHANGES = ["add", "retire", "change"];
const KINDS = ["floor", "cap", "window"];
const WORST = ["clause", "most", "below"];
const UNKNOWN =
  "It cannot know whether the learner would have chosen so, whether decisions were made that were never logged, or " +
  "whether all was written anew before the first checkpoint that you hold";
const part = (x) => (x - Math.floor(x)) * 2 ** 32;
const numbers = Array.from({ length: 310 }, (_, i) => i + 2);
const primes = numbers.filter((n) => numbers.every((d) => d >= n || n % d));
const K = Uint32Array.from(primes.map(Math.cbrt).map(part));
const FIRST = Uint32Array.from(primes.slice(0, 8).map(Math.sqrt).map(part));
const WORDS = new Uint32Array(64);
const turn = (x, by) => (x >>> by) | (x << (32 - by));

// SHA-256 (FIPS 180-4), at once: that of the browser answers later, which takes longer than the digest.
function sha(...parts) {
  const length = parts.reduce((sum, each) => sum + each.length, 0);
  const data = new Uint8Array(((length + 72) >> 6) << 6);
  parts.reduce((at, each) => (data.set(each, at), at + each.length), 0);
  data[length] = 128;
  const [view, state, w] = [new DataView(data.buffer), FIRST.slice(), WORDS];
  view.setBigUint64(data.length - 8, BigInt(length) * 8n);
  for (let start = 0; start < data.length; start += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getUint32(start + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [w[i - 15], w[i - 2]];
      const s0 = turn(x, 7) ^ turn(x, 18) ^ (x >>> 3);
      w[i] = w[i - 16] + s0 + w[i - 7] + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const t = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      h = g; g = f; f = e; e = (d + t) | 0; d = c; c = b; b = a;
      a = (t + s0 + ((b & c) ^ (b & d) ^ (c & d))) | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
  }
  state.forEach((x, i) => view.setUint32(4 * i, x));
  return data.slice(0, 32);
}

const ENCODER = new TextEncoder();
const hex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (two) => parseInt(two, 16));
const one = (byte) => Uint8Array.of(byte);
const isText = (value) => typeof value === "string";
const isNumber = (value) => typeof value === "number";
const isWhole = (value) => Number.isSafeInteger(value) && value >= 0;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const arePositions = (value, size) =>
  Array.isArray(value) && value.every((i) => isWhole(i) && i < size) && new Set(value).size === value.length;
const largest = (a, b) => (a > b ? a : b);

const check = (holds, said) => {
  if (!holds) throw new Error(said);
};

function bytes(text) {
  check(!/\p{Surrogate}/u.test(text), "a text with half a character");
  return ENCODER.encode(text);
}

// An object; its whole numbers that JavaScript would round become texts, as labels are compared as texts.
function read(text) {
  const exact = (token) => (/^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token);
  const said = JSON.parse(/\d{16}/.test(text) ? text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, exact) : text);
  check(isObject(said), "no object");
  return said;
}

function link(before, fields) {
  const shown = fields.slice(0, 10).map((field) => (field === null ? "\0" : String(field).replaceAll("\0", "\0\0")));
  return hex(sha(bytes([before, ...shown].join("\x1f"))));
}

function written(label) {
  if (!isText(label) && !Number.isSafeInteger(label) && typeof label !== "boolean") return null;
  const text = String(label).normalize("NFC");
  return ["True", "False", "TRUE", "FALSE"].includes(text) ? text.toLowerCase() : text;
}

function eight(set, value) {
  const view = new DataView(new ArrayBuffer(8));
  view[set](0, value);
  return new Uint8Array(view.buffer);
}

const bits = (chance) => (isNumber(chance) ? hex(eight("setFloat64", chance)) : "");
const noteOf = (ticket, at, played, arms, chance) => [ticket, at, String(played), bits(chance), ...arms].join("\x1f");
const leafOf = (digest, note) => sha(one(0), bytes(`${digest}\x1f${note}`));
const rootOf = (entries, head, books) => hex(sha(one(2), eight("setBigUint64", BigInt(entries)), head, books));

// By how much a clause is behind, or ahead, after so many ticks of its clock.
function valueOf(clause, clock) {
  if (clause.kind === "window") return BigInt(clock - clause.last[0]);
  const behind = clause.p * BigInt(clock) - clause.q * clause.plays;
  return clause.kind === "floor" ? behind : -behind;
}

const limitOf = (clause) => (clause.kind === "window" ? clause.q : clause.q * (clause.slack + 1n));

// Whether each position was drawn on its own.
const isEach = (decided) => (decided.indexes ?? null) === null && Array.isArray(decided.arm);

// Whether the chance of the whole decision can be one, and of a single arm is that stated for the arm.
function isChance(decided, played) {
  const { indexes = null, probabilities: stated = null, propensity: chance = null } = decided;
  if (chance === null) return indexes === null || stated === null;
  const alike = indexes !== null || stated === null || (played.length === 1 && stated[played[0]] === chance);
  return isNumber(chance) && chance > 0 && chance <= 1 + 1e-9 && alike;
}

// A log, followed entry by entry from its header: its chain, its tree, and the books of its promise.
class Followed {
  clock = (clause) => clause.ended ?? this.rounds - clause.idle;
  // The largest shortfall of a clause after any round so far.
  most = (clause) => ("ended" in clause ? clause.most : largest(clause.most, valueOf(clause, this.clock(clause))));
  isKept = (clause) => this.most(clause) < limitOf(clause);
  kept = () => (this.when === "at every round" ? this.clauses.every(this.isKept) : null);

  constructor(header) {
    const said = JSON.parse(header);
    check(said.format === FORMAT, `expected the format ${FORMAT}`);
    const { study, policy, birth: digest, created: at, when, lottery } = said;
    const sound = [study, policy, digest].every(isText) && isWhole(at) && (lottery === null || isNumber(lottery));
    check(sound && when !== undefined, "the header has other values than a study writes");
    Object.assign(this, { study, digest, at, when, lottery, sequence: 0, rounds: 0, decisions: 0, peaks: [] });
    Object.assign(this, { problems: [], clauses: [], live: [], arms: [], plays: [] });
    this.begin(said);
    this.grow(sha(one(0), bytes(header)));
  }

  // Take up what is promised from here on; what stays in force is counted on.
  begin(said) {
    const { arms } = said;
    const before = new Map(this.live.map((clause) => [JSON.stringify(clause.said), clause]));
    const same = Array.isArray(arms) && arms.every(isText) && this.arms.every((arm, i) => arm === arms[i]);
    const sound = same && new Set(arms).size === arms.length && arePositions(said.retired, arms.length);
    check(sound, "the arms are others than before");
    Object.assign(this, { arms, retired: said.retired, plays: arms.map((_, i) => this.plays[i] ?? 0) });
    this.places = new Map(arms.map((arm, i) => [arm, i]));
    const live = said.clauses.map((stated) => {
      const known = before.get(JSON.stringify(stated));
      if (known && before.delete(JSON.stringify(stated))) return known;
      const [begun, kind, members, rate, slack, wait] = stated;
      check(stated.length === 6 && /^[0-9]+\/[0-9]+$/.test(rate), `no clause: ${stated}`);
      const [p, q] = rate.split("/").map(BigInt);
      const whole = [begun, slack, wait].every(isWhole) && (kind === "floor" || wait === 0);
      const sound = whole && arePositions(members, arms.length) && members.length && q > 0n;
      check(sound && begun === this.sequence && KINDS.includes(kind), `no clause that begins here: ${stated}`);
      const last = kind === "window" ? new Array(Number(p)).fill(0) : [];
      const counted = { idle: this.rounds + wait, plays: 0n, most: 0n, last };
      this.clauses.push({ said: stated, kind, arms: members, p, q, slack: BigInt(slack), ...counted });
      return this.clauses.at(-1);
    });
    for (const clause of this.live.filter((each) => !live.includes(each)))
      Object.assign(clause, { most: this.most(clause), ended: this.clock(clause) });
    this.live = live;
    this.owners = arms.map((_, arm) => live.filter((clause) => clause.arms.includes(arm)));
  }


  take(fields, said = "") {
    const [sequence, kind, ticket, at, given, decision] = fields;
    Object.assign(this, { sequence, at, digest: fields[10] });
    let note = said;
    try {
      if (kind === "ask") {
        this.decisions++;
        note = this.decide(ticket, read(decision), read(given).available ?? null);
      } else if (CHANGES.includes(kind) && this.when !== null) this.begin(JSON.parse(said));
    } catch (error) {
      this.problems.push(`entry ${sequence} cannot be read: ${error.message}`);
    }
    this.grow(leafOf(this.digest, note));
  }

  // Count a decision, check its chances, and return its note.
  decide(ticket, decided, available) {
    const { index, probabilities: stated = null } = decided;
    const played = decided.indexes ?? (isEach(decided) ? decided.arm : isWhole(index) ? [index] : []);
    let chance = decided.propensity ?? null;
    check(arePositions(played, Infinity), `these are no positions, each once: ${played}`);
    const cause = `entry ${this.sequence}, ask ${ticket}: these cannot be its chances: ${JSON.stringify(stated)}`;
    const addsUp = (stated === null && this.lottery === null) || this.addsUp(stated, played, isEach(decided));
    if (played.length && !(addsUp && isChance(decided, played))) this.problems.push(cause);
    else if (chance === null && stated !== null && played.length === 1 && !isEach(decided)) chance = stated[played[0]];
    if (this.when !== null) this.count(played, decided.arms ?? [decided.arm], available);
    const arms = played.filter((i) => i < this.arms.length).map((i) => this.arms[i]);
    return noteOf(ticket, this.at, played, arms, chance);
  }

  // Whether chances can be chances: together the plays, or at most 1 where each was drawn on its own, and none between 0
  // and the lottery's floor.
  addsUp(stated, played, each) {
    const sound = Array.isArray(stated) && stated.every((chance) => isNumber(chance) && chance >= 0);
    if (!sound) return false;
    for (const clause of this.lottery && played.length === 1 ? this.live : []) {
      if (clause.kind !== "floor" || clause.arms.length !== 1 || this.clock(clause) < 0) continue;
      const chance = stated[clause.arms[0]];
      const floor = (this.lottery * Number(clause.p)) / Number(clause.q);
      if (chance === undefined || (chance > 0 && chance < floor - 1e-9)) return false;
    }
    const sum = stated.reduce((a, b) => a + b, 0);
    const tight = each ? stated.every((one) => one <= 1 + 1e-9) : Math.abs(sum - played.length) <= 1e-9 * stated.length;
    return tight && played.every((i) => stated[i] > 0);
  }

  // Enter a round in the books.
  count(played, named, available) {
    const limited = available !== null || this.retired.length > 0;
    const given = Array.isArray(available) ? available : available === null ? this.arms : [available];
    const offer = limited ? new Set(given.map((arm) => this.places.get(written(arm)) ?? -1)) : null;
    if (limited) this.retired.forEach((arm) => offer.delete(arm));
    const sound = played.every((i) => i < this.arms.length && (!limited || offer.has(i)));
    check(sound && played.length, `no arms on offer: ${played}`);
    const many = Array.isArray(named) && named.length === played.length;
    const alike = many && named.every((arm, i) => written(arm) === this.arms[played[i]]);
    check(alike, `other arms than their positions say: ${named}`);
    this.rounds++;
    for (const clause of limited ? this.live : []) clause.idle += clause.arms.some((arm) => offer.has(arm)) ? 0 : 1;
    for (const arm of played) {
      this.plays[arm]++;
      this.owners[arm].forEach((clause) => this.play(clause));
    }
  }

  // Count a play; between two plays a floor and a window are worst right before the second, a cap after it.
  play(clause) {
    const clock = this.rounds - clause.idle;
    if (clause.kind !== "cap") clause.most = largest(clause.most, valueOf(clause, clock - 1));
    clause.plays++;
    if (clause.kind === "window") clause.last = [...clause.last.slice(1), clock];
    else if (clause.kind === "cap") clause.most = largest(clause.most, valueOf(clause, clock));
  }

  // Put a leaf into the tree.
  grow(node) {
    let size = 1;
    while (this.peaks.length && this.peaks.at(-1)[0] === size) {
      node = sha(one(1), this.peaks.pop()[1], node);
      size *= 2;
    }
    this.peaks.push([size, node]);
  }

  books() {
    const counted = (clause) => [...clause.said, this.clock(clause), clause.plays, this.most(clause)].join(" ");
    return sha(bytes([this.rounds, this.plays.join(","), ...this.clauses.map(counted)].join("\n")));
  }

  root() {
    const head = this.peaks.map(([, node]) => node).reduceRight((right, left) => sha(one(1), left, right));
    return rootOf(this.sequence, head, this.books());
  }

  // The clause that came closest to its limit, or went furthest beyond.
  worst() {
    const further = (a, b) => this.most(b) * limitOf(a) > this.most(a) * limitOf(b);
    const clause = this.clauses.reduce((a, b) => (a === null || further(a, b) ? b : a), null);
    if (clause === null) return null;
    const [{ kind, p, q, slack }, most] = [clause, this.most(clause)];
    const who = Array.from(clause.arms.slice(0, 9).map((arm) => this.arms[arm]).join(", "));
    const name = who.length <= 120 ? who.join("") : `${who.slice(0, 117).join("")}...`;
    if (kind === "window")
      return { clause: `window ${p} in ${q} of ${name}`, most: `${most} rounds`, below: `${q} rounds` };
    return { clause: `${kind} ${p}/${q} of ${name}`, most: `${most}/${q} plays`, below: `${slack + 1n} plays` };
  }

  checkpoint() {
    const time = `${new Date(Math.floor(this.at / 1e6) * 1000).toISOString().slice(0, 19)}Z`;
    const { study, sequence: entries, rounds } = this;
    const found = { kept: this.kept(), worst: this.worst(), books: hex(this.books()), root: this.root() };
    return { study, entries, rounds, time, ...found };
  }
}

// The fields of a line, null where it is no entry.
function entryOf(line) {
  const fields = JSON.parse(line);
  if (!Array.isArray(fields) || fields.length !== (CHANGES.includes(fields[1]) ? 12 : 11)) return null;
  const whole = [0, 2, 3].every((i) => isWhole(fields[i]) || (i === 2 && fields[i] === null && fields[1] !== "ask"));
  const may = [5, 7, 8, 9];
  const texts = fields.every((one, i) => [0, 2, 3].includes(i) || isText(one) || (one === null && may.includes(i)));
  return whole && texts ? fields : null;
}

// Whether a checkpoint of so many entries says what they say.
function fits(kept, log) {
  const shown = (value) => JSON.stringify(value, WORST);
  const alike = ([name, value]) => !(name in kept) || shown(kept[name]) === shown(value);
  return Object.entries(log.checkpoint()).every(alike);
}

// What a proof says, and the problems: of the log itself, and of checkpoints that it does not fit.
async function follow(lines, known = []) {
  let [log, broken] = [null, ""];
  const problems = [];
  for await (const line of lines) {
    if (log === null) log = new Followed(line);
    else {
      const [fields, number] = [entryOf(line), log.sequence + 1];
      if (fields === null) broken = `line ${number + 1} is no entry`;
      else if (fields[0] !== number) broken = `entry ${number} is missing from the log`;
      else if (link(log.digest, fields) !== fields[10])
        broken = `entry ${number} was changed after it was written: its digest does not match`;
      if (broken) break;
      log.take(fields, fields[11]);
    }
    for (const kept of known.filter((each) => each.entries === log.sequence && !fits(each, log)))
      problems.push(`the first ${log.sequence} entries are not those of the checkpoint of ${kept.time}`);
  }
  problems.push(...log.problems, ...(broken ? [broken] : []));
  for (const kept of known.filter((each) => each.entries > log.sequence))
    problems.push(`the log ends before entry ${kept.entries}, the last of the checkpoint of ${kept.time}`);
  if (log.kept() === false) problems.push("the promise was broken");
  return [log, problems];
}

// Whether a decision stands at its place of the root of a checkpoint (RFC 9162, section 2.1.3.2).
function checkReceipt(receipt, kept) {
  const { ticket, at: time, positions, arms, chance } = receipt;
  if (!(chance === null || isNumber(chance)) || arms.length > positions.length) return false;
  const note = noteOf(ticket, time, positions, arms, chance);
  let [node, at, last] = [leafOf(receipt.digest, note), receipt.entry, receipt.entries];
  const path = Uint8Array.from(atob(receipt.path), (sign) => sign.charCodeAt(0));
  for (let i = 0; i < path.length; i += 32) {
    if (last === 0) return false;
    const other = path.slice(i, i + 32);
    if (at % 2 || at === last) {
      node = sha(one(1), other, node);
      for (; at && !(at % 2); at /= 2) last = Math.floor(last / 2);
    } else node = sha(one(1), node, other);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && receipt.entries === kept.entries && rootOf(kept.entries, node, unhex(kept.books)) === kept.root;
}

function saidOfLog(log, problems, known) {
  if (problems.length) return `WRONG: ${problems[0]}${problems.length > 1 ? ` (and ${problems.length - 1} more)` : ""}.`;
  const [worst, kept] = [log.worst(), log.kept()];
  const promise = kept ? "the promise was kept after every round" : "no promise for every round is counted";
  const fits = known ? `, and ${known} earlier checkpoint${known === 1 ? "" : "s"} fit` : "";
  const closest = worst ? ` (closest: ${worst.clause}, ${worst.most}, below ${worst.below})` : "";
  return (
    `The ${log.sequence} entries of the study ${log.study} are whole${fits}; all chances of its ${log.decisions} ` +
    `decisions add up, and ${promise}${closest}. ${UNKNOWN}.`
  );
}

// The lines of a proof, a Blob.
async function* linesOf(blob) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest = "";
  for (const reader = blob.stream().getReader(); ; ) {
    const { done, value } = await reader.read();
    const lines = (rest + decoder.decode(value, { stream: !done })).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) if (line || !done) yield line;
    if (done) return;
  }
}

// Check files, and return what was found, in lines, and whether all of it is sound.
async function main(files) {
  const [known, receipts, proofs] = [[], [], []];
  for (const file of files) {
    const said = file.size < 2 ** 14 ? await file.text().then(JSON.parse).catch(() => ({})) : {};
    if ("path" in said) receipts.push(said);
    else if ("root" in said) known.push(said);
    else proofs.push(file);
  }
  if (proofs.length + receipts.length !== 1)
    return [["Choose a proof, and checkpoints if you have some; or a receipt and a checkpoint."], false];
  if (receipts.length) {
    const [receipt] = receipts;
    const found = (known.length ? known : [receipt.checkpoint]).some((kept) => kept && checkReceipt(receipt, kept));
    const what = `the decision ${receipt.ticket} for ${receipt.arms.join(", ")} with the chance ${receipt.chance}`;
    const whose = known.length ? "of that root" : "of the root that came with it: compare it with one that others hold";
    return [[`${found ? "Sound" : "WRONG"}: ${what} is ${found ? "" : "not "}entry ${receipt.entry} ${whose}.`], found];
  }
  try {
    const [log, problems] = await follow(linesOf(proofs[0]), known);
    return [[saidOfLog(log, problems, known.length), JSON.stringify(log.checkpoint())], !problems.length];
  } catch (error) {
    return [[`WRONG: this is no proof: ${error.message}.`], false];
  }
}

if (typeof module !== "undefined") module.exports = { main };
