// Check the proof of a study, or the receipt of one decision: verify.py in JavaScript, for verify.html.
//
// The format is described in docs/evidence.md. Nothing is loaded, and nothing is sent anywhere.
"use strict";

const FORMAT = "evenhand proof 1";
const CHANGES = ["add", "retire", "change"];
const COUNTED = ["at every round", "at the horizon", "in the long run"];
const WORST = ["clause", "most", "below"];
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
const arePositions = (value, size) =>
  Array.isArray(value) && value.every((i) => isWhole(i) && i < size) && new Set(value).size === value.length;
const largest = (a, b) => (a > b ? a : b);
const TYPES = { whole: isWhole, text: isText, number: isNumber, list: Array.isArray };

// The names of some values, in order, with the types that each may have; a ? stands for null.
const table = (said) =>
  said.split(", ").map((one) => {
    const [name, kind] = one.split(" ");
    const isOne = TYPES[kind.replace("?", "")];
    return [name, kind.endsWith("?") ? (value) => value === null || isOne(value) : isOne];
  });
const HEADER = table("study text, policy text, created whole, birth text, when text?, lottery number?");
const PROMISE = table("arms list, retired list, clauses list");
const CLAUSE = table("begun whole, kind text, arms list, rate text, slack whole, wait whole");
const ENTRY = table(
  "sequence whole, kind text, ticket whole?, at whole, given text, decision text?, version text, " +
    "random_state text?, key text?, actor text?, digest text",
);
const CHANGE = [...ENTRY, ...table("promise text")];
const ASKED = table("ticket whole, decision text");
const ASK = ENTRY.map((each) => ASKED.find(([name]) => name === each[0]) ?? each);
const RECEIPT = table("ticket whole, at whole, positions list, chance number?, arms list, entry whole, entries whole");

const check = (holds, said) => {
  if (!holds) throw new Error(said);
};

// The values of an object, or of a list in the order of a table, if their types are those of the table.
function typed(said, types) {
  const values = Array.isArray(said) ? said : types.map(([name]) => said[name]);
  check(values.length === types.length, `expected ${types.length} values, got ${values.length}`);
  types.forEach(([name, isOne], i) => check(isOne(values[i]), `${name} has another type`));
  return values;
}

function bytes(text) {
  check(!/\p{Surrogate}/u.test(text), "a text with half a character");
  return ENCODER.encode(text);
}

// What a JSON text says, nested so deep and with so many digits as all programs read. Where it is asked for, whole
// numbers that JavaScript would round become texts, as labels are compared as texts.
function read(text, asTexts = false) {
  let depth = 0;
  const seen = (token) => {
    depth += "[{".includes(token) - "]}".includes(token);
    const isDigits = /^-?\d+$/.test(token);
    check(depth <= 100, "values are nested more than 100 deep");
    check(!isDigits || token.replace("-", "").length <= 4300, "a number of more than 4,300 digits");
    return asTexts && isDigits && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token;
  };
  const may = /\d{16}/.test(text) || text.split("[").length + text.split("{").length > 100;
  return JSON.parse(may ? text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{}]/g, seen) : text);
}

// An object without the names whose values are null.
function readObject(text) {
  const said = read(text, true);
  check(typeof said === "object" && said !== null && !Array.isArray(said), "no object");
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null));
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
const noteOf = (ticket, at, played, chance, arms) => [ticket, at, String(played), bits(chance), ...arms].join("\x1f");
const leafOf = (digest, note) => sha(one(0), bytes(`${digest}\x1f${note}`));
const rootOf = (entries, head, books) => hex(sha(one(2), eight("setBigUint64", BigInt(entries)), head, books));

// What was played, by positions; the chance of that, null where it is not known; and how it was drawn.
function drawn({ arm, index, indexes, propensity, probabilities }) {
  const how = indexes !== undefined ? "together" : Array.isArray(arm) ? "each" : "one";
  const played = { together: indexes, each: arm, one: isWhole(index) ? [index] : [] }[how];
  check(arePositions(played, Infinity), `these are no positions, each once: ${played}`);
  const own = how === "one" && Array.isArray(probabilities) ? probabilities[index] : undefined;
  return [played, played.length ? (propensity ?? own ?? null) : null, how];
}

// By how much a clause is behind, or ahead, after so many ticks of its clock.
function valueOf(clause, clock) {
  if (clause.kind === "window") return BigInt(clock - (clause.last.length == clause.p ? clause.last[0] : 0));
  const behind = clause.p * BigInt(clock) - clause.q * clause.plays;
  return clause.kind === "floor" ? behind : -behind;
}

// A log, followed entry by entry from its header: its chain, its tree, and the books of its promise.
class Followed {
  clock = (clause) => clause.ended ?? this.rounds - clause.idle;
  // The largest shortfall of a clause after any round so far.
  most = (clause) => largest(clause.most, valueOf(clause, this.clock(clause)));
  isKept = (clause) => this.most(clause) < clause.limit;
  kept = () => (this.when === "at every round" ? this.clauses.every(this.isKept) : null);

  constructor(header) {
    const said = read(header);
    check(said.format === FORMAT, `expected the format ${FORMAT}`);
    const [study, , at, digest, when, lottery] = typed(said, HEADER);
    const may = [...COUNTED, "by weight", null].includes(when) && (lottery ?? 0) >= 0 && (lottery ?? 0) <= 1;
    check(may, `no promise is kept ${when} by the lottery ${lottery}`);
    Object.assign(this, { study, digest, at, when, lottery, sequence: 0, rounds: 0, decisions: 0, peaks: [] });
    Object.assign(this, { problems: [], clauses: [], live: [], arms: [], plays: [] });
    this.begin(said);
    this.grow(sha(one(0), bytes(header)));
  }

  // Take up what is promised from here on; what stays in force is counted on.
  begin(said) {
    const [arms, retired, clauses] = typed(said, PROMISE);
    const before = new Map(this.live.map((clause) => [JSON.stringify(clause.said), clause]));
    const same = arms.every(isText) && this.arms.every((arm, i) => arm === arms[i]);
    const sound = same && new Set(arms).size === arms.length && arePositions(retired, arms.length);
    check(sound, `no arms that follow those before: ${arms}, retired: ${retired}`);
    Object.assign(this, { arms, retired, plays: arms.map((_, i) => this.plays[i] ?? 0) });
    const live = clauses.map((stated) => {
      const text = JSON.stringify(stated);
      const known = before.get(text);
      before.delete(text);
      if (!known) this.clauses.push(this.begun(stated, text));
      return known ?? this.clauses.at(-1);
    });
    for (const clause of before.values()) clause.ended = this.clock(clause);
    this.live = live;
    this.owners = arms.map((_, arm) => live.filter((clause) => clause.arms.includes(arm)));
  }

  // The books of a clause that begins here.
  begun(stated, text) {
    check(Array.isArray(stated), `no clause: ${stated}`);
    const [begun, kind, arms, rate, slack, wait] = typed(stated, CLAUSE);
    check(/^[0-9]{1,1000}\/[0-9]{1,1000}$/.test(rate), `no rate: ${rate}`);
    const [p, q] = rate.split("/").map(BigInt);
    const known = this.clauses.some((each) => JSON.stringify(each.said) === text);
    const fits = { floor: q > 0n, cap: q > 0n && wait === 0, window: p > 0n && p <= q && wait === 0 };
    const own = Object.hasOwn(fits, kind) && fits[kind] && COUNTED.includes(this.when);
    const sound = own && arms.length && arePositions(arms, this.arms.length);
    check(sound && begun === this.sequence && !known, `no clause that begins here: ${stated}`);
    const limit = kind === "window" ? q : q * (BigInt(slack) + 1n);
    const counted = { idle: this.rounds + wait, plays: 0n, most: 0n, last: [] };
    return { said: stated, kind, arms, p, q, slack: BigInt(slack), limit, ...counted };
  }

  // Take in the next line, which must be the next entry.
  enter(line) {
    const [fields, number] = [read(line), this.sequence + 1];
    check(Array.isArray(fields), "no list");
    const [sequence, kind] = typed(fields, fields[1] === "ask" ? ASK : CHANGES.includes(fields[1]) ? CHANGE : ENTRY);
    check(sequence === number, `entry ${number} is missing from the log`);
    check(link(this.digest, fields) === fields[10], `entry ${number} was changed: its digest does not match`);
    this.take(fields, CHANGES.includes(kind) ? fields[11] : "");
  }

  take(fields, said) {
    const [sequence, kind, ticket, at, given, decision] = fields;
    Object.assign(this, { sequence, at, digest: fields[10] });
    let note = said;
    try {
      if (kind === "ask") {
        this.decisions++;
        note = this.decide(ticket, readObject(decision), readObject(given).available);
      } else if (CHANGES.includes(kind) && this.when !== null) this.begin(read(said));
    } catch (error) {
      this.problems.push(`entry ${sequence} cannot be read: ${error.message}`);
    }
    this.grow(leafOf(this.digest, note));
  }

  // Count a decision, check its chances, and return its note.
  decide(ticket, decided, available) {
    const [played, chance, how] = drawn(decided);
    const { arm, arms: named = [arm], probabilities: stated } = decided;
    const said = `entry ${this.sequence}, ask ${ticket}: these cannot be its chances: ${JSON.stringify(stated)}`;
    if (played.length && !this.areChances(stated, played, chance, how)) this.problems.push(said);
    if (this.when !== null) this.count(played, named, available);
    return noteOf(ticket, this.at, played, chance, played.filter((i) => i < this.arms.length).map((i) => this.arms[i]));
  }

  // Whether chances can be chances: together the plays, or each at most 1 where each was drawn on its own, none between
  // 0 and the lottery's floor, and that of the decision is that of its arm.
  areChances(stated, played, chance, how) {
    const proper = chance === null || (isNumber(chance) && chance > 0 && chance <= 1 + 1e-9);
    if (stated === undefined || !proper) return proper && this.lottery === null;
    if (!Array.isArray(stated) || !stated.every((each) => isNumber(each) && each >= 0)) return false;
    for (const clause of this.lottery && played.length === 1 ? this.live : []) {
      if (clause.kind !== "floor" || clause.arms.length !== 1 || this.clock(clause) < 0) continue;
      const [own, rate] = [stated[clause.arms[0]], Number(clause.p) / Number(clause.q)];
      if (own === undefined || (own > 0 && own < this.lottery * rate - 1e-9)) return false;
    }
    const same = played.length === 1 && stated[played[0]] === chance;
    const alike = how === "together" ? chance !== null : chance === null || same;
    const sum = stated.reduce((a, b) => a + b, 0);
    const single = stated.every((each) => each <= 1 + 1e-9);
    const tight = how === "each" ? single : Math.abs(sum - played.length) <= 1e-9 * stated.length;
    return alike && tight && played.every((i) => stated[i] > 0);
  }

  // Enter a round in the books.
  count(played, named, available) {
    const given = Array.isArray(available) ? available : [available];
    const labels = new Set(available === undefined ? this.arms : given.map(written));
    const offer = new Set(this.arms.map((_, i) => i).filter((i) => labels.has(this.arms[i])));
    this.retired.forEach((arm) => offer.delete(arm));
    check(played.length && played.every((i) => offer.has(i)), `no arms on offer: ${played}`);
    const many = Array.isArray(named) && named.length === played.length;
    const alike = many && named.every((arm, i) => written(arm) === this.arms[played[i]]);
    check(alike, `other arms than their positions say: ${named}`);
    this.rounds++;
    const live = offer.size < this.arms.length ? this.live : [];
    for (const clause of live) clause.idle += clause.arms.some((arm) => offer.has(arm)) ? 0 : 1;
    const full = live.filter((c) => c.kind === "cap" && valueOf(c, this.clock(c)) >= c.q * c.slack);
    const atCap = new Set(full.flatMap((clause) => clause.arms));
    const excused = [...offer].every((arm) => atCap.has(arm));
    for (const arm of played) {
      this.plays[arm]++;
      const owners = this.owners[arm].filter((clause) => clause.kind !== "cap" || !excused);
      owners.forEach((clause) => this.play(clause, this.clock(clause)));
    }
  }

  // Count a play; between two plays a floor and a window are worst right before the second, a cap after it.
  play(clause, clock) {
    const before = valueOf(clause, clock - 1);
    clause.plays++;
    clause.most = largest(clause.most, clause.kind === "cap" ? valueOf(clause, clock) : before);
    if (clause.kind === "window" && clause.last.push(clock) > clause.p) clause.last.shift();
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
    const further = (a, b) => this.most(b) * a.limit > this.most(a) * b.limit;
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

// Whether a checkpoint of so many entries says what they say.
function fits(kept, log) {
  const shown = (value) => JSON.stringify(value, WORST);
  const alike = ([name, value]) => !(name in kept) || shown(kept[name]) === shown(value);
  return Object.entries(log.checkpoint()).every(alike);
}

// What a proof says, and the problems: of the log itself, and of checkpoints that it does not fit.
async function follow(lines, known = []) {
  let log = null;
  for await (const line of lines) {
    try {
      if (log === null) log = new Followed(line);
      else log.enter(line);
    } catch (error) {
      check(log !== null, error.message);
      log.problems.push(`line ${log.sequence + 2} is not the next entry: ${error.message}`);
      break;
    }
    for (const kept of known.filter((each) => each.entries === log.sequence && !fits(each, log)))
      log.problems.push(`the first ${log.sequence} entries are not those of the checkpoint of ${kept.time}`);
  }
  check(log !== null, "it is empty");
  const { problems } = log;
  for (const kept of known.filter((each) => each.entries > log.sequence))
    problems.push(`the log ends before entry ${kept.entries}, the last of the checkpoint of ${kept.time}`);
  if (log.kept() === false) problems.push("the promise was broken");
  return [log, problems];
}

// The head of a tree of so many leaves by the one at this place and the nodes beside its way up.
function headBy(leaf, at, size, beside) {
  if (size === 1 && at === 0 && !beside.length) return leaf;
  check(size > 1 && beside.length, "the path has another length");
  let left = 1;
  while (2 * left < size) left *= 2;
  const [rest, last] = [beside.slice(0, -1), beside.at(-1)];
  if (at < left) return sha(one(1), headBy(leaf, at, left, rest), last);
  return sha(one(1), last, headBy(leaf, at - left, size - left, rest));
}

// Whether a decision stands at its place of the root of a checkpoint.
function checkReceipt(receipt, kept) {
  try {
    const [ticket, time, played, chance, arms, entry, entries] = typed(receipt, RECEIPT);
    const leaf = leafOf(receipt.digest, noteOf(ticket, time, played, chance, arms));
    const path = Array.from(atob(receipt.path), (sign) => sign.charCodeAt(0));
    const beside = Array.from({ length: Math.ceil(path.length / 32) }, (_, i) => path.slice(32 * i, 32 * i + 32));
    const root = rootOf(entries, headBy(leaf, entry, entries + 1, beside), unhex(kept.books));
    return arms.length <= played.length && entries === kept.entries && root === kept.root;
  } catch {
    return false;
  }
}

function saidOfLog(log, problems, known) {
  const shown = [...problems.slice(0, 3), ...(problems.length > 3 ? ["and more"] : [])];
  if (problems.length) return `WRONG: ${shown.join("; ")}.`;
  const [worst, kept] = [log.worst(), log.kept()];
  const promise = kept ? "the promise was kept after every round" : "no promise for every round is counted";
  const fits = known ? `, and ${known} earlier checkpoint${known === 1 ? "" : "s"} fit` : "";
  const closest = worst ? ` (closest: ${worst.clause}, ${worst.most}, below ${worst.below})` : "";
  return (
    `The ${log.sequence} entries of the study ${log.study} are whole${fits}; all chances of its ${log.decisions} ` +
    `decisions add up, and ${promise}${closest}. It cannot know whether the learner would have chosen so, what was ` +
    "never logged, or what was written anew before the first checkpoint that you hold."
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
    const found = (known.length ? known : [receipt.checkpoint]).some((kept) => checkReceipt(receipt, kept));
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
