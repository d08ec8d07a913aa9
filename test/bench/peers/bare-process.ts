import { createServer } from "node:http";

import { playPeer } from "./peer.ts";

/** A process that only listens: the least that one of ours could be. */
playPeer({
  start: () =>
    new Promise((resolve) => {
      const server = createServer((_request, response) => response.end());
      server.listen(0, "127.0.0.1", () => resolve(String(process.pid)));
    }),
});
