import { Pool } from "undici";

import { playPeer } from "./peer.ts";

const inFlight = 32;
const body = JSON.stringify({ detail: "x".repeat(Number(process.argv[2])) });

/** Posts for that long, as many at a time as the event bus sends to one target; answers how many were answered. */
const run = async (address: string, ms: number): Promise<number> => {
  const pool = new Pool(address, { connections: inFlight });
  const headers = { "content-type": "application/json; charset=utf-8" };
  const endMs = performance.now() + ms;
  let count = 0;
  const post = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const answer = await pool.request({ path: "/", method: "POST", headers, body });
      await answer.body.dump();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, post));
  await pool.close();
  return count;
};

playPeer({ run });
