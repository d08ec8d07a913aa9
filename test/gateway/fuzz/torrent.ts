import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";

import { AnswerReader } from "./answer-reader.ts";
import type { TorrentRequest, TorrentRequests } from "./torrent-requests.ts";

/** What came of a torrent so far. */
export interface TorrentTally {
  /** Answered requests. */
  answered: number;
  /** Requests of which nobody knows where they end, and that were sent last on their connection. */
  broken: number;
  /** Requests that were not reached, because an answer before them ended their connection. */
  unread: number;
  readonly statuses: Map<number, number>;
  readonly problems: string[];
}

export const emptyTally = (): TorrentTally => ({
  answered: 0,
  broken: 0,
  unread: 0,
  statuses: new Map(),
  problems: [],
});

const connections = 48;
const requestsAtOnce = 24;
/** How long all answers of what was sent at once may take. */
const answersMsMax = 30_000;
/** How long an answer to a broken request is waited for. */
const brokenMs = 10;
const problemsMax = 10;

/** Sends requests over many connections, several at once on each, until it is over or something is wrong. */
export const runTorrent = async (
  url: string,
  requests: Pick<TorrentRequests, "next">,
  tally: TorrentTally,
  isOver: () => boolean,
): Promise<void> => {
  const lane = async (): Promise<void> => {
    while (!isOver() && tally.problems.length < problemsMax) await useConnection(new URL(url), requests, tally, isOver);
  };
  await Promise.all(Array.from({ length: connections }, lane));
};

/** Uses one connection until it ends, by either side. */
const useConnection = async (
  { hostname, port }: URL,
  requests: Pick<TorrentRequests, "next">,
  tally: TorrentTally,
  isOver: () => boolean,
): Promise<void> => {
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  socket.on("error", () => {});
  try {
    while (!isOver()) {
      const sent: TorrentRequest[] = [];
      let broken: TorrentRequest | undefined;
      while (sent.length < requestsAtOnce && broken === undefined) {
        const request = requests.next();
        if (request.isWhole) sent.push(request);
        else broken = request;
      }
      if (sent.length > 0 && !(await exchange(socket, sent, tally))) return;
      if (broken === undefined) continue;
      tally.broken += 1;
      await sendBroken(socket, broken, tally);
      return;
    }
  } finally {
    socket.destroy();
  }
};

/** Sends requests at once and checks their answers; returns whether the connection goes on. */
const exchange = (socket: Socket, sent: readonly TorrentRequest[], tally: TorrentTally): Promise<boolean> =>
  new Promise((resolve) => {
    const reader = new AnswerReader();
    let next = 0;
    const settle = (goesOn: boolean): void => {
      clearTimeout(limit);
      socket.off("data", look);
      socket.off("close", closed);
      tally.unread += sent.length - next;
      resolve(goesOn);
    };
    const problem = (what: string): void => {
      const request = sent[next]?.bytes.toString("latin1", 0, 1_500) ?? "";
      tally.problems.push(`${what}\n${JSON.stringify(request)}`);
      settle(false);
    };
    const limit = setTimeout(() => problem(`no answer within ${answersMsMax} ms`), answersMsMax);
    const look = (piece: Buffer): void => {
      reader.add(piece);
      try {
        for (;;) {
          const answer = reader.next(sent[next]?.isHead === true);
          if (answer === undefined) return;
          const { status, isLast } = answer;
          tally.answered += 1;
          tally.statuses.set(status, (tally.statuses.get(status) ?? 0) + 1);
          if (status === 500) return problem(answer.excerpt());
          next += 1;
          if (isLast) return settle(false);
          if (next < sent.length) continue;
          return reader.isEmpty ? settle(true) : problem("more than the answers");
        }
      } catch (error) {
        problem(String(error));
      }
    };
    const closed = (): void => problem("closed without an answer");
    socket.on("data", look);
    socket.on("close", closed);
    if (socket.destroyed) closed();
    else socket.write(Buffer.concat(sent.map(({ bytes }) => bytes)));
  });

/** Sends a request that may have no end; what is answered must not be 500. */
const sendBroken = async (socket: Socket, { bytes }: TorrentRequest, tally: TorrentTally): Promise<void> => {
  const leaving = setTimeout(() => socket.destroy(), brokenMs);
  socket.on("data", (piece: Buffer) => {
    if (piece.includes("HTTP/1.1 500"))
      tally.problems.push(`${piece.toString("latin1")}\n${JSON.stringify(bytes.toString("latin1", 0, 1_500))}`);
  });
  socket.write(bytes);
  if (!socket.destroyed) await once(socket, "close");
  clearTimeout(leaving);
};
