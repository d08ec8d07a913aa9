import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import { Pool } from "undici";

import type { EchoResponse } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { EchoRequestSchema, EchoResponseSchema, TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { create } from "@bufbuild/protobuf";
import { playPeer } from "./peer.ts";

/** About 300 bytes in each direction. */
const request = create(EchoRequestSchema, {
  text: "The quick brown fox jumps over the lazy dog. ".repeat(4),
  labels: ["alpha-0123456789", "beta-0123456789", "gamma-0123456789", "delta-0123456789", "epsilon-01234567"],
  number: 1234567890123n,
});
const path = "/quartet.test.v1.TestService/Echo";
const inFlight = 16;

const kitCall = (engine: "connect" | "grpc") => (address: string) => {
  const client = createClient(TestService, createTransport({ address, engine, token: async () => "alice" }));
  return (): Promise<EchoResponse> => client.echo(request);
};

/** For each role, how it makes one call. */
const roles: Record<string, (address: string) => () => Promise<EchoResponse>> = {
  "kit-connect": kitCall("connect"),
  "kit-grpc": kitCall("grpc"),
  "grpc-js": (address) => {
    const client = new Client(new URL(address).host, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", "Bearer alice");
    return () =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          path,
          (message: typeof request) => Buffer.from(toBinary(EchoRequestSchema, message)),
          (bytes: Buffer) => fromBinary(EchoResponseSchema, bytes),
          request,
          metadata,
          (error, answer) => {
            if (answer === undefined) reject(error);
            else resolve(answer);
          },
        );
      });
  },
  undici: (address) => {
    const pool = new Pool(address, { connections: inFlight, pipelining: 1 });
    const headers = { "content-type": "application/proto" };
    return async () => {
      const body = toBinary(EchoRequestSchema, request);
      const answer = await pool.request({ path, method: "POST", headers, body });
      return fromBinary(EchoResponseSchema, new Uint8Array(await answer.body.arrayBuffer()));
    };
  },
};

/** Made in the first round and kept, as a client in use would be. */
let connected: (() => Promise<EchoResponse>) | undefined;

/** Keeps 16 calls in flight for that long; answers how many were made and checks that they were answered. */
const run = async (address: string, ms: number): Promise<number> => {
  const connect = roles[process.argv[2] ?? ""];
  if (connect === undefined) throw new Error(`no role ${process.argv[2]}`);
  connected ??= connect(address);
  const call = connected;
  const until = performance.now() + ms;
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < until) {
      const { number } = await call();
      if (number !== request.number) throw new Error("the echo is wrong");
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return count;
};

playPeer({ run });
