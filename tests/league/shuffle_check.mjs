// The shuffle written a second time, from the text in boards/shuffle.py; checks the published vector given as argument.
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

const seed = hex(vector.seed);
same("seed_commitment", sha(Buffer.from("cdp1/league"), seed).toString("hex"), vector.seed_commitment);
const nonces = sha(...vector.nonces.map(hex).flatMap((nonce) => [u32(nonce.length), nonce]));
same("nonces_digest", nonces.toString("hex"), vector.nonces_digest);
for (const shuffle of vector.shuffles) {
  const name = `board ${shuffle.board}`;
  const boardSeed = createHmac("sha256", seed)
    .update(Buffer.concat([Buffer.from("cdp1/board"), u32(shuffle.board), u32(shuffle.redeal), sha(hex(vector.ruleset_digest)), nonces]))
    .digest();
  same(`${name} board_seed`, boardSeed.toString("hex"), shuffle.board_seed);
  same(`${name} board_commitment`, sha(Buffer.from("cdp1/board-commit"), boardSeed).toString("hex"), shuffle.board_commitment);
  const stream = words(boardSeed);
  same(`${name} words`, shuffle.first_words.map(() => stream.next().value).join(), shuffle.first_words.join());
  same(`${name} first_drawer`, sha(Buffer.from("cdp1/first-drawer"), boardSeed)[0] & 3, shuffle.first_drawer);
  same(`${name} cards`, shuffled(boardSeed, shuffle.packs).join(" "), shuffle.cards);
}
for (const fault of faults) console.error(fault);
process.exit(faults.length ? 1 : 0);
