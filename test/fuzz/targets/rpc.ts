import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { PutObjectRequestSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { decodeMessage } from "../../../services/kit/server/request-body.ts";
import type { RunningServer } from "../../../services/kit/server/server.ts";
import type { Frame } from "../../../services/kit/wire/frame-parser.ts";
import { FrameParser } from "../../../services/kit/wire/frame-parser.ts";
import { acceptsGzip, isGzipEncoded } from "../../../services/kit/wire/gzip.ts";
import { messageCodec } from "../../../services/kit/wire/message-codec.ts";
import { ProtocolError } from "../../../services/kit/wire/protocol-error.ts";
import { parseConnectTimeout, parseDeadline, parseGrpcTimeout } from "../../../services/kit/wire/timeouts.ts";
import { startTestServer } from "../../kit/server/test-service.ts";
import type { FuzzTarget } from "../target.ts";
import { holds, outcomeOf, parsed, piecesOf } from "../target.ts";

const codec = messageCodec(PutObjectRequestSchema);

const rpcFrames: FuzzTarget = {
  name: "rpc-frames",
  seeds: [
    "\0\0\0\0\x0a\x0a\x06photos\x12\0",
    "\0\0\0\0\0\x02\0\0\0\x02{}",
    "\x01\0\0\0\x01x",
    "\0\0\0\0\x04\x1a\x02ab",
  ],
  dictionary: ["\0\0\0\0\0", "\0\0\0\0\x01", "\x01\0\0\0", "\x02\0\0\0\x02{}", "\x0a\x06photos", "\x12\x01k"],
  async run(input) {
    const read = (pieces: readonly Buffer[]) => (): unknown => {
      const parser = new FrameParser(65_536);
      const frames: Frame[] = [];
      for (const piece of pieces) parser.push(piece, frames);
      return [parser.isWithinFrame, ...frames.map(({ flags, body }) => [flags, body.toString("latin1")])];
    };
    const whole = await outcomeOf(read([input]), ProtocolError);
    const inPieces = await outcomeOf(read(piecesOf(input)), ProtocolError);
    holds(whole === inPieces, `in pieces the frames are ${inPieces} and not ${whole}`);
    parsed(() => decodeMessage(codec, input), ProtocolError);
    // Frames whose large member is passed on in pieces.
    const cutting = new FrameParser(65_536, codec.findPayload);
    for (const piece of piecesOf(input)) parsed(() => cutting.push(piece, []), ProtocolError);
  },
};

const rpcHeaders: FuzzTarget = {
  name: "rpc-headers",
  seeds: ["10S", "99999999n", "1000", "1767225600000", "gzip;q=0.5, identity"],
  dictionary: ["H", "M", "S", "m", "u", "n", "gzip", "identity", ", ", ";q=0"],
  run(input) {
    const text = input.toString("latin1");
    for (const parse of [parseGrpcTimeout, parseConnectTimeout, parseDeadline]) {
      const ms = parsed(() => parse(text), ProtocolError);
      holds(ms === undefined || (Number.isFinite(ms) && ms >= 0), "a duration is no number of milliseconds");
    }
    acceptsGzip(text);
    parsed(() => isGzipEncoded(text), ProtocolError);
  },
};

let server: Promise<RunningServer> | undefined;
const running = (): Promise<RunningServer> => (server ??= startTestServer().then((started) => started.server));

/** How long a connection is watched that neither answers nor closes. */
const silentMs = 3;
let connections = 0;

const firstBytes: FuzzTarget = {
  name: "first-bytes",
  seeds: [
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /quartet.test.v1.TestService/Echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/proto\r\nContent-Length: 0\r\nAuthorization: Bearer alice\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0",
    "\x16\x03\x01\0\xa5\x01\0\0\xa1",
  ],
  dictionary: [
    "PRI * HTTP/2.0\r\n\r\n",
    "SM\r\n\r\n",
    "HTTP/1.1\r\n",
    "\r\n\r\n",
    "\0\0\0\x04\0",
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 5\r\n",
    "Expect: 100-continue\r\n",
    "Upgrade: h2c\r\n",
  ],
  async run(input) {
    const { port } = await running();
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(input.subarray(0, input.length >> 1));
    socket.write(input.subarray(input.length >> 1));
    // A reset is an answer too: the server does not read what follows a request that it refuses.
    const heard = ["data", "close", "error"].map((name) => new Promise((resolve) => void socket.once(name, resolve)));
    await Promise.race([...heard, delay(silentMs)]);
    socket.destroy();
    connections += 1;
    if (connections % 10 !== 0) return;
    const { status } = await fetch(`http://127.0.0.1:${port}/healthz`);
    holds(status === 200, `the server answers ${status} to others`);
  },
};

/** Ends what a target has started. */
export const stopServer = async (): Promise<void> => {
  await (await server)?.stop(0);
  server = undefined;
};

export const rpcTargets = [rpcFrames, rpcHeaders, firstBytes];
