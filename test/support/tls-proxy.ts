import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";

import { onTestFinished } from "vitest";

import type { CertificateFiles } from "./certificates.ts";

/**
 * Starts a reverse proxy that ends TLS, as nginx does with `proxy_set_header` for Host and X-Forwarded-For and -Proto;
 * it is closed when the test ends. `client`: the address that it says its clients have. Returns its URL.
 */
export const startTlsProxy = async (target: string, files: CertificateFiles, client: string): Promise<string> => {
  const [cert, key] = await Promise.all([readFile(files.certificate), readFile(files.key)]);
  const { hostname, port } = new URL(target);
  const server = createServer({ cert, key }, (request, response) => {
    const before = request.headers["x-forwarded-for"];
    const outgoing = httpRequest({
      host: hostname,
      port,
      path: request.url,
      method: request.method,
      headers: {
        ...request.headers,
        "x-forwarded-for": before === undefined ? client : `${before.toString()}, ${client}`,
        "x-forwarded-proto": "https",
      },
    });
    outgoing.once("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      pipeline(answer, response, () => {});
    });
    outgoing.on("error", () => response.destroy());
    pipeline(request, outgoing, () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
};
