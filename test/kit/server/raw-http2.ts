import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** HTTP/2 written by hand, for what no client library sends. Frame numbers are those of RFC 9113, section 6. */
export const frames = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  more: 9,
};

export const endStream = 0x1;
/** Of settings and pings: the answer to one. */
export const ack = 0x1;
export const endHeaders = 0x4;

export const frame = (type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer => {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
};

/** One setting, by its number. */
export const setting = (id: number, value: number): Buffer => {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id, 0);
  bytes.writeUInt32BE(value, 2);
  return bytes;
};

/** Header lines as HPACK literals that are not indexed. Names and values are shorter than 127 bytes. */
export const headerBlock = (lines: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(
    Object.entries(lines).flatMap(([name, value]) => [
      Buffer.from([0, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]),
  );

/** The request lines of a gRPC call by alice. */
export const grpcCall = (method: string): Readonly<Record<string, string>> => ({
  ":method": "POST",
  ":scheme": "http",
  ":authority": "test",
  ":path": `/quartet.test.v1.TestService/${method}`,
  "content-type": "application/grpc+proto",
  te: "trailers",
  authorization: "Bearer alice",
});

/**
 * An HTTP/2 connection: its preface and settings are sent, in one packet with the further frames, and the server's
 * first bytes have arrived, or it is closed. On Linux every address of 127.0.0.0/8 is this machine's own.
 */
export const connectRaw = async (
  port: number,
  settings: Uint8Array = Buffer.alloc(0),
  further: Uint8Array = Buffer.alloc(0),
  localAddress = "127.0.0.1",
): Promise<Socket> => {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(Buffer.concat([preface, frame(frames.settings, 0, 0, settings), further]));
  await Promise.race([once(socket, "readable"), closing(socket)]);
  return socket;
};

/** Resolves when a connection is closed, in whatever way. */
export const closing = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once("close", () => resolve());
  });

/** Writes the same bytes again and again, as fast as they are taken, until the connection is closed. */
export const flood = async (socket: Socket, bytes: Buffer): Promise<void> => {
  socket.resume();
  const closed = closing(socket);
  const write = (): void => {
    while (socket.writable && socket.write(bytes));
  };
  socket.on("drain", write);
  write();
  await closed;
};
