import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { crc32 } from "node:zlib";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import type { TestRequest } from "../../gateway/support/signing-client.ts";
import { signHeaders } from "../../gateway/support/signing-client.ts";
import { bucket, largeBytes, smallBytes } from "./object-sizes.ts";
import { playPeer } from "./peer.ts";

/** What one client process sends, and with which key; in JSON, the role of the process. */
export interface RequestRole {
  readonly kind: RequestKind;
  readonly clients: number;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary credentials. */
  readonly sessionToken?: string | undefined;
}

export type RequestKind = "put" | "get" | "head" | "list" | "events" | "put-large" | "get-large";

/** Every signature is made before the calls and sent again and again, so that only its verification is measured. */
const putKeys = 256;

/** As stock clients send it over plain HTTP: with the hash and a checksum of the body. */
const put = (key: string, body: Buffer): TestRequest => {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  const headers = {
    "content-type": "application/octet-stream",
    "x-amz-checksum-crc32": checksum.toString("base64"),
    "x-amz-content-sha256": createHash("sha256").update(body).digest("hex"),
    "x-amz-sdk-checksum-algorithm": "CRC32",
  };
  return { method: "PUT", target: `/${bucket}/${key}?x-id=PutObject`, headers, body };
};

const get = (key: string): TestRequest => ({
  method: "GET",
  target: `/${bucket}/${key}?x-id=GetObject`,
  headers: { "x-amz-checksum-mode": "ENABLED" },
});

const small = Buffer.alloc(smallBytes, "a");
const entries = Array.from({ length: 10 }, (_none, number) => ({
  Source: "shop",
  DetailType: "Sale",
  Detail: JSON.stringify({ number, item: "b".repeat(200) }),
}));

const requests: Readonly<Record<RequestKind, () => readonly TestRequest[]>> = {
  put: () => Array.from({ length: putKeys }, (_none, number) => put(`small-${number}`, small)),
  get: () => [get("small-0")],
  head: () => [{ method: "HEAD", target: `/${bucket}/small-0` }],
  list: () => [{ method: "GET", target: "/listed?list-type=2&max-keys=1000" }],
  events: () => [
    {
      method: "POST",
      target: "/",
      headers: { "content-type": amzDialect.targetContentType, "x-amz-target": "AWSEvents.PutEvents" },
      body: Buffer.from(JSON.stringify({ Entries: entries })),
    },
  ],
  "put-large": () => [put("large", Buffer.alloc(largeBytes, "a"))],
  "get-large": () => [get("large")],
};

/** A request with its signature as the bytes to send. */
const signed = (unsigned: TestRequest, host: string, role: RequestRole): Buffer => {
  const service = role.kind === "events" ? "events" : "s3";
  const session: Record<string, string> =
    role.sessionToken === undefined ? {} : { "x-amz-security-token": role.sessionToken };
  const request = { ...unsigned, headers: { ...unsigned.headers, ...session } };
  const lines = signHeaders(request, host, {
    brand: amzDialect.signature,
    service,
    nowMs: Date.now(),
    tellsHash: service === "s3",
    accessKeyId: role.accessKeyId,
    secret: role.secretAccessKey,
  });
  const body = Buffer.from(request.body ?? "");
  if (body.length > 0) lines["content-length"] = String(body.length);
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${request.method} ${request.target} HTTP/1.1\r\n${head.join("")}\r\n`), body]);
};

/** Sends a request and waits for the end of its answer, whose body is only counted. Throws unless its status is 200. */
const exchange = (socket: Socket, request: Buffer, isHead: boolean): Promise<void> =>
  new Promise((resolve, reject) => {
    let left: number | undefined;
    const settle = (run: () => void): void => {
      socket.off("data", take).off("close", lost);
      run();
    };
    const lost = (): void => settle(() => reject(new Error("the connection was closed")));
    const take = (chunk: Buffer): void => {
      left = (left ?? headLength(chunk, isHead)) - chunk.length;
      if (left === 0) settle(resolve);
    };
    socket.on("data", take).on("close", lost);
    socket.write(request);
  });

/** The bytes of an answer by its head, which arrives in one piece. */
const headLength = (chunk: Buffer, isHead: boolean): number => {
  const end = chunk.indexOf("\r\n\r\n") + 4;
  const head = chunk.toString("latin1", 0, end);
  if (!head.startsWith("HTTP/1.1 200 ")) throw new Error(chunk.toString("latin1", 0, 1000));
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  if (length !== undefined) return end + (isHead ? 0 : Number(length));
  throw new Error(`an answer without a length: ${head}`);
};

/** Keeps as many requests in flight as there are clients, for that long or that many; answers how many were made. */
const run = async (address: string, ms: number, callsMax = Infinity): Promise<number> => {
  const role = JSON.parse(process.argv[2] ?? "") as RequestRole;
  const { hostname, port, host } = new URL(address);
  const all = requests[role.kind]().map((request) => signed(request, host, role));
  let calls = 0;
  const sockets = await Promise.all(
    Array.from({ length: role.clients }, async () => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      await once(socket, "connect");
      return socket;
    }),
  );
  const endMs = performance.now() + ms;
  await Promise.all(
    sockets.map(async (socket) => {
      while (performance.now() < endMs && calls < callsMax)
        await exchange(socket, all[calls++ % all.length]!, role.kind === "head");
      socket.destroy();
    }),
  );
  return calls;
};

playPeer({ run });
