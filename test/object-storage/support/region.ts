import { once } from "node:events";
import { createServer, request } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { onTestFinished } from "vitest";

import type { ServiceEndpoint } from "../../../services/kit/outgoing/service-client.ts";
import type { Harness } from "../harness.ts";
import { alice } from "../harness.ts";

/** How a region answers. `unreachable`: it ends each connection; `hanging`: it takes everything and says nothing. */
type Behaviour = "serving" | "busy" | "unreachable" | "hanging";

/** A region as another one reaches it. */
export interface Region {
  readonly endpoint: ServiceEndpoint;
  /** The signatures of the calls that it received. */
  readonly signatures: string[];
  behave(behaviour: Behaviour): void;
  /** Whose service it is from now on, and which of its buckets others find. */
  serve(harness: Pick<Harness, "url">, buckets: readonly string[]): void;
}

/** The address of a gateway, where whoever signs is one account; it is closed when the test ends. */
export const startRegion = async (name: string, account = alice): Promise<Region> => {
  let behaviour: Behaviour = "serving";
  let served = { url: "", buckets: [] as readonly string[] };
  const signatures: string[] = [];
  const pass = (incoming: IncomingMessage, answer: ServerResponse): void => {
    const { authorization = "", host: _host, ...headers } = incoming.headers;
    signatures.push(authorization);
    const target = new URL(incoming.url ?? "", served.url);
    const outgoing = request(target, { method: "POST", headers: { ...headers, authorization: `Bearer ${account}` } });
    outgoing.on("response", (received) => {
      answer.writeHead(received.statusCode ?? 500, received.headers);
      received.pipe(answer);
    });
    outgoing.on("error", () => answer.destroy());
    incoming.on("error", () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer((incoming, answer) => {
    if (behaviour === "unreachable") return void incoming.socket.destroy();
    if (incoming.method === "HEAD")
      return void answer.writeHead(served.buckets.includes((incoming.url ?? "").slice(1)) ? 200 : 404).end();
    if (behaviour === "hanging") return void incoming.resume();
    if (behaviour === "busy") return void answer.writeHead(503).end();
    pass(incoming, answer);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: { url: `http://127.0.0.1:${port}`, region: name, accessKeyId: "AKIAEAST", secretAccessKey: "secret" },
    signatures,
    behave: (next) => (behaviour = next),
    serve: ({ url }, buckets) => (served = { url, buckets }),
  };
};
