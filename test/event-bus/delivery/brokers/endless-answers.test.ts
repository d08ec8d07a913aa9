import { readFileSync } from "node:fs";
import type { Server, Socket } from "node:net";
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import type { BrokerSetting } from "../../../../services/event-bus/domain/broker.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { createAuthority } from "../../../support/certificates.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/silent-logger.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";

const mebibyte = 1024 * 1024;
/** Bytes after which a broker of these tests has sent enough to fail them. */
const sentBytesMax = 1024 * mebibyte;

const piece = Buffer.alloc(mebibyte, 97);

/** Sends bytes as long as somebody reads them. */
const sendEndlessly = (socket: Socket): void => {
  const send = (): void => {
    while (!socket.destroyed && socket.bytesWritten < sentBytesMax) if (!socket.write(piece)) return;
  };
  socket.on("drain", send);
  send();
};

const natsInfo = 'INFO {"server_id":"x","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576}\r\n';

/** A frame or message of 2 GiB by what it says. */
const size = Buffer.from("7fffffff", "hex");

type Answer = (socket: Socket, received: string) => void;

interface Started {
  readonly sockets: readonly Socket[];
  readonly outcome: Promise<{ readonly code: string } | undefined>;
}

/** Publishes a message to a broker of this process; `limitMs` is the time of a connection and of a message. */
const publishTo = async (
  server: Server,
  connecting: string,
  kind: string,
  sort: "subject" | "stream" | "table" | "topic",
  answer: Answer,
  limitMs: number,
  setting: Omit<BrokerSetting, "url"> = {},
): Promise<Started> => {
  const sockets: Socket[] = [];
  server.on(connecting, (socket: Socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    if (kind === "nats") socket.write(natsInfo);
    socket.on("data", (bytes) => answer(socket, bytes.toString("latin1")));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const connections = new BrokerConnections({ log: silentLogger, limitMs, messagesMax: 1 });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await connections.close();
  });
  const broker = brokerOf("000000000000/main", { ...setting, url: `${kind}://127.0.0.1:${port}` });
  const message = {
    place: { sort, name: "a" },
    id: "1",
    key: "",
    body: "1",
    contentType: "text/plain",
    attributes: [],
  };
  return { sockets, outcome: connections.publish(broker, message, new AbortController().signal) };
};

/** Longer than a test: what ends a connection is not the time. */
const unlimitedMs = 60_000;

/** What happened to a message when all connections have ended, and the most that was written to one of them. */
const ended = async ({ sockets, outcome }: Started) => {
  await eventually(() => sockets.length > 0 && sockets.every(({ destroyed }) => destroyed), "all connections ended");
  return { outcome: await outcome, bytesMost: Math.max(...sockets.map(({ bytesWritten }) => bytesWritten)) };
};

const sendVersions: Answer = (socket) => {
  socket.write(size);
  sendEndlessly(socket);
};

test.each([
  // what has no end, kind, place, how the broker answers each thing that it receives
  [
    "a message that nobody subscribed to",
    "nats",
    "subject",
    (socket: Socket, received: string): void => {
      if (received.includes("PING")) socket.write("PONG\r\n");
      if (!received.includes("PUB")) return;
      socket.write("MSG a 1 90000000\r\n");
      sendEndlessly(socket);
    },
  ],
  [
    "an answer",
    "redis",
    "stream",
    (socket: Socket, received: string): void => {
      if (!received.includes("XADD")) {
        socket.write("+OK\r\n".repeat(received.split("*").length - 1));
        return;
      }
      socket.write("$2000000000\r\n");
      sendEndlessly(socket);
    },
  ],
  [
    "the answer to a login",
    "postgresql",
    "table",
    (socket: Socket): void => {
      socket.write(Buffer.concat([Buffer.from("R"), size]));
      sendEndlessly(socket);
    },
  ],
  ["the list of versions", "kafka", "topic", sendVersions],
] as const)(
  "A broker's connection ends while %s has no end (%s)",
  { timeout: 60_000 },
  async (_what, kind, sort, answer) => {
    const started = await publishTo(createServer(), "connection", kind, sort, answer, unlimitedMs);
    const { outcome, bytesMost } = await ended(started);
    expect(outcome).toMatchObject({ kind: "retry" });
    expect(bytesMost).toBeLessThan(sentBytesMax / 2);
  },
);

test("An encrypted connection ends while the list of versions has no end (kafka)", { timeout: 60_000 }, async () => {
  const authority = await createAuthority(await temporaryDirectory());
  const { certificate, key } = await authority.certify("broker");
  const server = createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key) });
  const setting = { authority: authority.file };
  const started = await publishTo(server, "secureConnection", "kafka", "topic", sendVersions, unlimitedMs, setting);
  expect((await ended(started)).bytesMost).toBeLessThan(sentBytesMax / 2);
});

/** Sends a byte now and again, as long as somebody reads. */
const sendSlowly = (socket: Socket): void => {
  const timer = setInterval(() => socket.write("a"), 20);
  socket.on("close", () => clearInterval(timer));
};

test.each([
  // what goes on slowly, kind, place, how the broker answers what it receives first
  ["an answer", "redis", "stream", "$2000000000\r\n"],
  ["the list of versions", "kafka", "topic", size],
] as const)("A broker's connection ends when %s goes on slowly for too long (%s)", async (_what, kind, sort, begin) => {
  let hasBegun = false;
  const answer: Answer = (socket, received) => {
    if (kind === "redis" && !received.includes("XADD")) {
      socket.write("+OK\r\n".repeat(received.split("*").length - 1));
      return;
    }
    if (hasBegun) return;
    hasBegun = true;
    socket.write(begin);
    sendSlowly(socket);
  };
  const { sockets, outcome } = await publishTo(createServer(), "connection", kind, sort, answer, 200);
  expect(await outcome).toMatchObject({ kind: "retry", code: "TIMEOUT" });
  await eventually(() => sockets.every(({ destroyed }) => destroyed), "all connections ended");
});
