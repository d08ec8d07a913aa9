import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import type { TorrentRequest } from "./torrent-requests.ts";
import { emptyTally, runTorrent } from "./torrent.ts";

const request: TorrentRequest = {
  bytes: Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n"),
  isHead: false,
  isWhole: true,
};
const answer = (status: number, further = ""): string =>
  `HTTP/1.1 ${status} A\r\n${further}content-length: 2\r\n\r\nok`;
const chunked = "HTTP/1.1 200 A\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";

/** A torrent at a server that says the same to every connection whenever it has received something. */
const problemsWith = async (say: (socket: Socket) => void): Promise<string[]> => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", () => say(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const tally = emptyTally();
  let made = 0;
  const next = (): TorrentRequest => {
    made += 1;
    return request;
  };
  await runTorrent(`http://127.0.0.1:${port}`, { next }, tally, () => made >= 2_000 || tally.problems.length > 0);
  return [...new Set(tally.problems.map((problem) => problem.split("\n")[0]!.trim()))];
};

test.each([
  // what is answered to 24 requests, what is found
  ["all of them", (socket: Socket) => socket.write((answer(404) + chunked).repeat(12)), []],
  ["one and no more", (socket: Socket) => socket.write(answer(400, "connection: close\r\n")), []],
  ["500", (socket: Socket) => socket.write(answer(200) + answer(500)), ["HTTP/1.1 500 A"]],
  ["one too many", (socket: Socket) => socket.write(answer(200).repeat(25)), ["more than the answers"]],
  ["nothing", (socket: Socket) => socket.destroy(), ["closed without an answer"]],
  ["half of one", (socket: Socket) => socket.end(answer(200) + answer(200).slice(0, 20)), ["closed without an answer"]],
  ["something else", (socket: Socket) => socket.write("220 mail\r\n\r\n"), ["Error: no answer: 220 mail"]],
] as const)("a torrent finds what is wrong with answers: %s", async (_what, say, found) => {
  const problems = await problemsWith(say);
  expect(problems.map((problem) => problem.replace(/: HTTP.*/, ""))).toEqual(found);
}); // prettier-ignore
