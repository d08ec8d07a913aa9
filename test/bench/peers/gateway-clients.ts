import { Pool } from "undici";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import type { TestRequest } from "../../gateway/support/signing-client.ts";
import { signHeaders } from "../../gateway/support/signing-client.ts";
import { playPeer } from "./peer.ts";

const inFlight = 16;
const book = Buffer.alloc(64 * 1024 * 1024, "a");

const create: TestRequest = {
  method: "POST",
  target: "/readers/Ada",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    DefaultExpirationDays: 30,
    Address: { Street: "Ink Lane", Forward: { Street: "Quay" } },
    MoreAddresses: [{ Street: "1" }, { Street: "2" }, { Street: "3" }],
    tags: { a: "b", c: "d" },
    IsMember: true,
    Height: 1.68,
  }),
};

/** One signature serves for all calls of a run, so that its making is not measured; verifying it is. */
const signed = (address: string, request: TestRequest, service: string): Record<string, string> => {
  const { host } = new URL(address);
  const tellsHash = service === "s3";
  return signHeaders(request, host, { brand: amzDialect.signature, service, nowMs: Date.now(), tellsHash });
};

const unsignedPayload = { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" };

/** For each role, how it makes one call, and how many are made at a time. */
const roles: Record<string, { inFlight: number; call: (address: string) => () => Promise<number> }> = {
  create: { inFlight, call: (address) => caller(address, create, "profile") },
  get: {
    inFlight: 2,
    call: (address) => caller(address, { method: "GET", target: "/novels/emma", headers: unsignedPayload }, "s3"),
  },
  put: {
    inFlight: 2,
    call: (address) =>
      caller(address, { method: "PUT", target: "/novels/emma", headers: unsignedPayload, body: book }, "s3"),
  },
};

const caller = (address: string, request: TestRequest, service: string): (() => Promise<number>) => {
  const pool = new Pool(address, { connections: inFlight, pipelining: 1 });
  const headers = signed(address, request, service);
  const { method, target: path, body } = request;
  return async () => {
    const answer = await pool.request({ path, method, headers, body });
    for await (const _piece of answer.body);
    return answer.statusCode;
  };
};

/** Keeps calls in flight for that long; answers how many were made and throws when one is not answered well. */
const run = async (address: string, ms: number): Promise<number> => {
  const role = roles[process.argv[2] ?? ""];
  if (role === undefined) throw new Error(`no role ${process.argv[2]}`);
  const call = role.call(address);
  const endMs = performance.now() + ms;
  let calls = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const status = await call();
      if (status !== 200) throw new Error(`status ${status}`);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: role.inFlight }, loop));
  return calls;
};

playPeer({ run });
