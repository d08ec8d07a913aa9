import { once } from "node:events";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";

import { onTestFinished } from "vitest";

/** The first bytes that a client of TLS sends. */
const clientHello = (): Promise<Buffer> =>
  new Promise((resolve) => {
    const carrier = new Duplex({
      read: () => {},
      write: (chunk: Buffer, _encoding, done) => {
        resolve(chunk);
        done();
      },
    });
    connectTls({ socket: carrier, servername: "localhost" }).on("error", () => {});
  });

/**
 * Opens connections to a server with TLS whose peers never finish their handshake: those that send nothing, half of
 * their first message, or only that; of each one that reads what it is sent and one that does not. And one that sends
 * another byte of its first message now and then.
 */
export const openHalf = async (port: number): Promise<void> => {
  const hello = await clientHello();
  const open = async (bytes: Buffer, reads: boolean) => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    if (bytes.length > 0) socket.write(bytes);
    return reads ? socket.resume() : socket;
  };
  for (const bytes of [Buffer.alloc(0), hello.subarray(0, hello.length / 2), hello])
    for (const reads of [true, false]) await open(bytes, reads);
  const dripping = await open(hello.subarray(0, 1), true);
  let sent = 1;
  const drip = setInterval(() => dripping.write(hello.subarray(sent, ++sent)), 100);
  dripping.once("close", () => clearInterval(drip));
};
