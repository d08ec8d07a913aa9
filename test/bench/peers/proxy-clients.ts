import { Pool } from "undici";

import { playPeer } from "./peer.ts";

const large = Buffer.alloc(64 * 1024 * 1024, "a");

/** For each role: method, page, body, and how many requests are made at a time. */
const roles: Record<string, { method: string; page: string; body: Buffer | null; inFlight: number }> = {
  small: { method: "GET", page: "small", body: null, inFlight: 32 },
  download: { method: "GET", page: "large", body: null, inFlight: 2 },
  upload: { method: "PUT", page: "small", body: large, inFlight: 2 },
};

/** Keeps requests in flight for that long; answers how many were answered and throws when one is not answered well. */
const run = async (address: string, ms: number): Promise<number> => {
  const role = roles[process.argv[2] ?? ""];
  if (role === undefined) throw new Error(`no role ${process.argv[2]}`);
  const { method, page, body, inFlight } = role;
  const { origin, pathname } = new URL(address);
  const pool = new Pool(origin, { connections: inFlight, allowH2: false });
  const path = `${pathname.replace(/\/$/, "")}/shops/shop-1/${page}`;
  const endMs = performance.now() + ms;
  let count = 0;
  const loop = async (): Promise<void> => {
    while (performance.now() < endMs) {
      const answer = await pool.request({ path, method, body });
      for await (const _piece of answer.body);
      if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}`);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  await pool.close();
  return count;
};

playPeer({ run });
