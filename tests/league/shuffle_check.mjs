// The shuffle written a second time, from the text in boards/shuffle.py; checks the published vector given as argument,
// and with a league's results.json and records behind it, that those were dealt from what the league revealed.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const sha = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const u32 = (n) => { const b = Buffer.alloc(4); b.writeUInt32BE(n >>> 0); return b; };
const hex = (text) => Buffer.from(text, "hex");

function* words(seed) {
  for (let counter = 0; ; counter++) {
    const block = sha(seed, u32(counter));
    for (let at = 0; at < 32; at += 4) yield block.readUInt32BE(at);
  }
}

function deck(packs) {
  const faces = [];
  for (const suit of "CDHS") for (const rank of "23456789TJQKA") faces.push(suit + rank);
  faces.push("bj", "rj");
  return faces.flatMap((face) => Array(packs).fill(face));
}

function shuffled(seed, packs) {
  const cards = deck(packs);
  const stream = words(seed);
  for (let i = cards.length - 1; i > 0; i--) {
    const usable = 2 ** 32 - (2 ** 32 % (i + 1));
    let word;
    do word = stream.next().value; while (word >= usable);
    const j = word % (i + 1);
    [cards[i], cards[j]] = [cards[j], cards[i]];
  }
  return cards;
}

const vector = JSON.parse(readFileSync(process.argv[2], "utf8"));
const faults = [];
const same = (what, got, wanted) => { if (got !== wanted) faults.push(`${what}: ${got}, in the vector ${wanted}`); };

const commitmentOf = (seed) => sha(Buffer.from("cdp1/league"), seed).toString("hex");
const digestOf = (nonces) => sha(...nonces.map(hex).flatMap((nonce) => [u32(nonce.length), nonce]));
const boardSeedOf = (seed, board, redeal, ruleset, nonces) => createHmac("sha256", seed)
  .update(Buffer.concat([Buffer.from("cdp1/board"), u32(board), u32(redeal), sha(hex(ruleset)), nonces]))
  .digest();

const seed = hex(vector.seed);
same("seed_commitment", commitmentOf(seed), vector.seed_commitment);
const nonces = digestOf(vector.nonces);
same("nonces_digest", nonces.toString("hex"), vector.nonces_digest);
for (const shuffle of vector.shuffles) {
  const name = `board ${shuffle.board}`;
  const boardSeed = boardSeedOf(seed, shuffle.board, shuffle.redeal, vector.ruleset_digest, nonces);
  same(`${name} board_seed`, boardSeed.toString("hex"), shuffle.board_seed);
  same(`${name} board_commitment`, sha(Buffer.from("cdp1/board-commit"), boardSeed).toString("hex"), shuffle.board_commitment);
  const stream = words(boardSeed);
  same(`${name} words`, shuffle.first_words.map(() => stream.next().value).join(), shuffle.first_words.join());
  same(`${name} first_drawer`, sha(Buffer.from("cdp1/first-drawer"), boardSeed)[0] & 3, shuffle.first_drawer);
  same(`${name} cards`, shuffled(boardSeed, shuffle.packs).join(" "), shuffle.cards);
}

const [results, ...records] = process.argv.slice(3);
if (results) {
  const league = JSON.parse(readFileSync(results, "utf8"));
  const revealed = hex(league.seed);
  same("the league's commitment", commitmentOf(revealed), league.seed_commitment);
  for (const path of records) {
    const lines = readFileSync(path, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
    const { board, ruleset, board_commitment } = lines[0];
    const seeds = lines.at(-1).board_seeds;
    seeds.forEach((shown, redeal) => {
      const made = boardSeedOf(revealed, board, redeal, ruleset.digest, digestOf(league.nonces));
      same(`${path} shuffle ${redeal}`, made.toString("hex"), shown);
    });
    same(`${path} commitment`, sha(Buffer.from("cdp1/board-commit"), hex(seeds[0])).toString("hex"), board_commitment);
  }
}
for (const fault of faults) console.error(fault);
process.exit(faults.length ? 1 : 0);
