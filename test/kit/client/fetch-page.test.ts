import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { expect, onTestFinished, test } from "vitest";

import { fetchPage } from "../../../services/kit/client/fetch-page.ts";
import { eventually } from "../../support/eventually.ts";

/** What is fetched from a server that answers with this, within 8 bytes. */
const fetched = async (status: number, page: string): Promise<string> => {
  const server = createServer((_request, response) => response.writeHead(status).end(page)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  let connections = 0;
  server.on("connection", (socket) => {
    connections += 1;
    socket.on("close", () => (connections -= 1));
  });
  onTestFinished(async () => void (await eventually(() => connections === 0, "no connection is left", 2_000)));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}, http://127.0.0.1:1`;
  return fetchPage({ address, tls: undefined, path: "/metrics", limitMs: 60_000, bytesMax: 8 });
};

test.each(["", "calls 1\n"])("the page %j of the first address is fetched", async (page) => {
  expect(await fetched(200, page)).toBe(page);
});

test.each([
  // what is answered, why there is no page
  [404, "no", "/metrics answers 404"],
  [503, "", "/metrics answers 503"],
  [204, "", "/metrics answers 204"],
  [200, "calls 10\n", "/metrics has more than 8 bytes"],
])("the answer %d %j is not a page", async (status, page, why) => {
  await expect(fetched(status, page)).rejects.toThrow(why);
});
