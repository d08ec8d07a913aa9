import { Pool } from "undici";

import type { ClientTls } from "../tls/client-tls.ts";
import { createConnector } from "./connector.ts";

/** How a page of a process is fetched. */
export interface PageOptions {
  /** As of a transport; of several addresses the first counts. */
  readonly address: string;
  readonly tls: ClientTls | undefined;
  readonly path: string;
  /** Longest time in milliseconds until the whole page is there. */
  readonly limitMs: number;
  readonly bytesMax: number;
}

/** Fetches a page that a process serves next to its RPCs. Rejects if it answers with anything but 200. */
export const fetchPage = async ({ address, tls, path, limitMs, bytesMax }: PageOptions): Promise<string> => {
  const [first = ""] = address.split(",");
  const limits = { messageBytesMax: bytesMax, connectionsMax: 1, connectTimeoutMs: limitMs };
  const pool = new Pool(first.startsWith("unix:") ? "http://localhost" : first.trim(), {
    connect: createConnector({ address: first.trim(), tls, token: undefined, limits }),
    connections: 1,
    allowH2: false,
  });
  try {
    const signal = AbortSignal.timeout(limitMs);
    const { statusCode, body } = await pool.request({ path, method: "GET", signal });
    const pieces: Buffer[] = [];
    let bytes = 0;
    for await (const piece of body as AsyncIterable<Buffer>) {
      bytes += piece.byteLength;
      if (bytes > bytesMax) throw new Error(`${path} has more than ${bytesMax} bytes`);
      pieces.push(piece);
    }
    if (statusCode !== 200) throw new Error(`${path} answers ${statusCode}`);
    return Buffer.concat(pieces).toString("utf8");
  } finally {
    await pool.destroy();
  }
};
