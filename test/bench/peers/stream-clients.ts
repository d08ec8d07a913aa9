import { createClient } from "@connectrpc/connect";
import { Pool } from "undici";

import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { chunkBytes, transferBytes } from "./chunks.ts";
import { playPeer } from "./peer.ts";

const chunk = new Uint8Array(chunkBytes).fill(7);

async function* chunks(): AsyncGenerator<Uint8Array> {
  for (let left = transferBytes; left > 0; left -= chunk.length) yield chunk;
}

const kit = (engine: "connect" | "grpc", address: string) =>
  createClient(TestService, createTransport({ address, engine, token: async () => "alice" }));

const kitUp = (engine: "connect" | "grpc") => async (address: string) => {
  const messages = async function* () {
    for await (const body of chunks()) yield { body };
  };
  return Number((await kit(engine, address).upload(messages())).sizeBytes);
};

const kitDown = (engine: "connect" | "grpc") => async (address: string) => {
  let size = 0;
  const sizeBytes = BigInt(transferBytes);
  for await (const { body } of kit(engine, address).download({ sizeBytes, chunkBytes })) size += body.length;
  return size;
};

/** For each role, one transfer; answers how many bytes arrived. */
const roles: Record<string, (address: string) => Promise<number>> = {
  "connect-up": kitUp("connect"),
  "connect-down": kitDown("connect"),
  "grpc-up": kitUp("grpc"),
  "grpc-down": kitDown("grpc"),
  "http-up": async (address) => {
    const answer = await new Pool(address).request({ path: "/", method: "POST", body: chunks() as never });
    return Number(await answer.body.text());
  },
  "http-down": async (address) => {
    const answer = await new Pool(address).request({ path: `/?size=${transferBytes}`, method: "GET" });
    let size = 0;
    for await (const part of answer.body) size += (part as Buffer).length;
    return size;
  },
};

/** Transfers until the time is over; answers megabytes (10^6) per second. */
const run = async (address: string, ms: number): Promise<number> => {
  const transfer = roles[process.argv[2] ?? ""];
  if (transfer === undefined) throw new Error(`no role ${process.argv[2]}`);
  const startedMs = performance.now();
  let size = 0;
  do {
    const arrived = await transfer(address);
    if (arrived !== transferBytes) throw new Error(`${arrived} bytes arrived`);
    size += arrived;
  } while (performance.now() - startedMs < ms);
  return size / 1000 / (performance.now() - startedMs);
};

playPeer({ run });
