import type { Socket } from "node:net";
import { createServer } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { BrokerConnections } from "../../../../services/event-bus/delivery/brokers/broker-connections.ts";
import { brokerOf } from "../../../../services/event-bus/domain/broker.ts";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/silent-logger.ts";

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
  [
    "the list of versions",
    "kafka",
    "topic",
    (socket: Socket): void => {
      socket.write(size);
      sendEndlessly(socket);
    },
  ],
] as const)(
  "A broker's connection ends while %s has no end (%s)",
  { timeout: 60_000 },
  async (_what, kind, sort, answer) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
      if (kind === "nats") socket.write(natsInfo);
      socket.on("data", (bytes) => answer(socket, bytes.toString("latin1")));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : undefined;
    // The time limit does not end the connection.
    const connections = new BrokerConnections({ log: silentLogger, limitMs: 30_000, messagesMax: 1 });
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await connections.close();
    });
    const broker = brokerOf("000000000000/main", { url: `${kind}://127.0.0.1:${port}` });
    const message = {
      place: { sort, name: "a" },
      id: "1",
      key: "",
      body: "1",
      contentType: "text/plain",
      attributes: [],
    };
    const outcome = connections.publish(broker, message, new AbortController().signal);
    await eventually(() => sockets.length > 0 && sockets.every(({ destroyed }) => destroyed), "all connections ended");
    expect((await outcome)?.kind).toBe("retry");
    for (const { bytesWritten } of sockets) expect(bytesWritten).toBeLessThan(sentBytesMax / 2);
  },
);
