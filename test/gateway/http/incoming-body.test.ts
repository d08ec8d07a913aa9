import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import type { Socket } from "node:net";
import { connect } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { ByteBudget } from "../../../gateway/http/byte-budget.ts";
import type { IncomingBody } from "../../../gateway/http/incoming-body.ts";
import { openIncomingBody } from "../../../gateway/http/incoming-body.ts";
import type { GatewayLimits } from "../../../gateway/http/limits.ts";
import { defaultGatewayLimits } from "../../../gateway/http/limits.ts";
import { ReadingTurns } from "../../../gateway/http/reading-turns.ts";
import { settleUnread } from "../../../gateway/http/send.ts";
import { reasonOf } from "../support/refused.ts";

/**
 * Sends a request, by default with a chunked body, and reads its body; resolves with its size or the reason of the
 * refusal.
 */
const read = async (
  limits: Partial<GatewayLimits>,
  reading: (body: IncomingBody) => Promise<Buffer>,
  send: (socket: Socket) => void,
  framing = "transfer-encoding: chunked",
): Promise<unknown> => {
  const outcome = Promise.withResolvers<unknown>();
  const server = createServer({ optimizeEmptyRequests: true }, (received, response) => {
    const all = { ...defaultGatewayLimits, ...limits };
    const body = openIncomingBody(
      received,
      response,
      false,
      all,
      new ByteBudget(all.bodiesBytesMax),
      new ReadingTurns(),
    );
    reading(body).then(
      ({ length }) => outcome.resolve(length),
      (thrown: unknown) => outcome.resolve(reasonOf(thrown)),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  socket.write(`PUT / HTTP/1.1\r\nhost: localhost\r\n${framing}\r\n\r\n`);
  send(socket);
  return outcome.promise;
};

const whole = (body: IncomingBody): Promise<Buffer> => body.readWhole();

test.each(["x-length: none", "content-length: 0"])(
  "a request with %s has a body that ends at once",
  async (framing) => {
    const inPieces = async (body: IncomingBody) => Buffer.concat(await Array.fromAsync(body.pieces()));
    const lent = async (body: IncomingBody) => Buffer.concat(await Array.fromAsync(body.lentPieces()));
    for (const reading of [whole, inPieces, lent, (body: IncomingBody) => body.readSmall()])
      expect(await read({}, reading, () => {}, framing)).toBe(0);
  },
);

/** Sends a byte every few milliseconds, so that the body never stalls and never ends. */
const drip = (socket: Socket): void => {
  const timer = setInterval(() => socket.write("1\r\na\r\n"), 5);
  onTestFinished(() => clearInterval(timer));
};

test("a chunked body up to the limit is read whole", async () => {
  const send = (socket: Socket) => socket.write("4\r\nEmma\r\n4\r\nAnna\r\n0\r\n\r\n");
  expect(await read({ bodyBytesMax: 8 }, whole, send)).toBe(8);
});

test("a chunked body over the limit is refused before its end", async () => {
  const send = (socket: Socket) => socket.write("4\r\nEmma\r\n5\r\nAnna!\r\n");
  expect(await read({ bodyBytesMax: 8 }, whole, send)).toBe("BODY_TOO_LARGE");
});

test("a body whose declared length is over the limit is refused before its beginning", async () => {
  const limits = { bodyBytesMax: 8, stallTimeoutMs: 100 };
  expect([
    await read(limits, whole, () => {}, "content-length: 9"),
    await read(limits, whole, () => {}, "content-length: 8"),
  ]).toEqual(["BODY_TOO_LARGE", "SLOW_BODY"]);
});

test("a body that exceeds what is left for all bodies is refused as busy", async () => {
  const send = (socket: Socket) => socket.write("4\r\nEmma\r\n5\r\nAnna!\r\n");
  expect(await read({ bodiesBytesMax: 8 }, whole, send)).toBe("BUSY");
});

test("a body whose client went away is refused, so that nobody stores its first bytes", async () => {
  const send = (socket: Socket) => socket.end("9\r\nhalf");
  expect(await read({}, whole, send)).toBe("INCOMPLETE_BODY");
});

test("a body that arrives slowly but never stalls is refused after its time", async () => {
  expect(await read({ bodyTimeoutMs: 100 }, whole, drip)).toBe("SLOW_BODY");
});

test("a limit of time counts only until it is lifted", async () => {
  const reading = async (body: IncomingBody): Promise<Buffer> => {
    const pieces = body.pieces();
    pieces.limitTime(50);
    pieces.limitTime(undefined);
    const seen = [];
    for await (const piece of pieces) seen.push(piece);
    return Buffer.concat(seen);
  };
  const send = (socket: Socket) => void setTimeout(() => socket.write("4\r\nEmma\r\n0\r\n\r\n"), 100);
  expect(await read({}, reading, send)).toBe(4);
});

/** When the gateway asks for a body: how it begins, and whether listeners have to wait for the bytes. */
const moments = [
  ["before its bytes are parsed", (start: () => void) => start(), true],
  ["in the tasks that its last byte starts, as the gateway does", (start: () => void) => queueMicrotask(start), false],
  ["after tasks of its own", (start: () => void) => setImmediate(start), false],
] as const;

test.each(moments)(
  "a body that arrives with its head, read %s, counts to the budget until it is answered, and leaves its connection usable",
  async (_when, begin, isWatched) => {
    const budget = new ByteBudget(defaultGatewayLimits.bodiesBytesMax);
    const held: (readonly [string, number, boolean])[] = [];
    const server = createServer((received, response) => {
      const turns = new ReadingTurns();
      const body = openIncomingBody(received, response, false, defaultGatewayLimits, budget, turns);
      const answer = async (): Promise<void> => {
        const reading = body.readSmall();
        const listeners = received.listenerCount("data");
        held.push([(await reading).toString("latin1"), budget.bytes, listeners > 0]);
        settleUnread(received, response, body);
        response.end();
      };
      begin(() => void answer());
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => {
      agent.destroy();
      server.close();
    });
    const send = async (text: string): Promise<boolean> => {
      const sent = request({ port, agent, method: "PUT", headers: { "content-length": text.length } });
      sent.end(text);
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      await once(answer.resume(), "end");
      return sent.reusedSocket;
    };
    expect([await send("Emma"), await send("Persuasion"), await send("Emma"), budget.bytes]).toEqual([
      false,
      true,
      true,
      0,
    ]);
    expect(held).toEqual([
      ["Emma", 4, isWatched],
      ["Persuasion", 10, isWatched],
      ["Emma", 4, isWatched],
    ]);
  },
);

test("a body that arrived with its head is refused where the budget is spent", async () => {
  const budget = new ByteBudget(4);
  const outcome = Promise.withResolvers<string>();
  const server = createServer((received, response) => {
    const body = openIncomingBody(received, response, false, defaultGatewayLimits, budget, new ReadingTurns());
    setImmediate(() => void body.readSmall().catch((thrown: unknown) => outcome.resolve(reasonOf(thrown))));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  socket.write("PUT / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nNovel");
  expect(await outcome.promise).toBe("BUSY");
});
