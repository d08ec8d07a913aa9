import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startTestServer } from "../../kit/server/test-service.ts";
import { chunkBytes } from "./chunks.ts";
import { playPeer } from "./peer.ts";

const chunk = new Uint8Array(chunkBytes).fill(7);

const roles: Record<string, () => Promise<string>> = {
  kit: async () => (await startTestServer()).server.url,
  "kit-unix": async () => {
    const path = join(tmpdir(), `quartet-bench-${process.pid}.sock`);
    return (await startTestServer({ listen: { path } })).server.url;
  },
  /** Bodies without messages: POST takes bytes and answers how many, GET ?size= sends them. */
  "node-http": async () => {
    const server = createServer((request, response) => {
      if (request.method === "POST") {
        let size = 0;
        request.on("data", (part: Buffer) => {
          size += part.length;
        });
        request.on("end", () => response.end(String(size)));
        return;
      }
      let left = Number(request.url?.split("=")[1]);
      const send = (): void => {
        while (left > 0) {
          left -= chunk.length;
          if (!response.write(chunk)) {
            response.once("drain", send);
            return;
          }
        }
        response.end();
      };
      send();
    });
    await new Promise<void>((resolve) => {
      server.listen(0, "127.0.0.1", resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
};

playPeer({ start: roles[process.argv[2] ?? ""] });
