import { createServer } from "node:net";
import { once } from "node:events";
import { readFile } from "node:fs/promises";

import { describe, expect, onTestFinished, test } from "vitest";

import { systemClock } from "../../../services/kit/clock/clock.ts";
import { createAddressGuard } from "../../../services/kit/network/address-guard.ts";
import { createHttpSender, defaultSenderLimits } from "../../../services/kit/outgoing/http-sender.ts";
import { ServiceClient } from "../../../services/kit/outgoing/service-client.ts";
import type { CheckedEndpoint } from "../../../services/refactoring-workspace/health/health-check.ts";
import { checkHealth } from "../../../services/refactoring-workspace/health/health-check.ts";
import { FunctionApi } from "../../../services/refactoring-workspace/proxy/function-api.ts";
import { ServiceNetwork } from "../../../services/refactoring-workspace/proxy/service-network.ts";
import { createAuthority } from "../../support/certificates.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";
import { startBackend, startSecureBackend } from "../backend.ts";
import { startHttpProxy } from "../http-proxy.ts";

/** At the first of these nothing listens. */
const pairOfAddresses = [
  { address: "127.0.0.2", family: 4 },
  { address: "127.0.0.1", family: 4 },
];

const functionsAt = (url: string | undefined): FunctionApi => {
  const sender = createHttpSender(createAddressGuard(true), defaultSenderLimits);
  onTestFinished(() => sender.close());
  const endpoint = url === undefined ? undefined : { url, region: "us-east-1", accessKeyId: "", secretAccessKey: "" };
  return new FunctionApi({ endpoint, client: new ServiceClient(sender, systemClock) });
};

interface CheckOptions {
  readonly allowsPrivate?: boolean;
  readonly functionsUrl?: string;
  readonly attemptMs?: number;
  readonly egressProxy?: string;
  readonly publicAuthorities?: readonly string[];
}

/** Checks once, with names that lead to this machine and `public.example` to a public address. */
const check = async (endpoint: CheckedEndpoint, options: CheckOptions = {}) => {
  const network = new ServiceNetwork({
    allowsPrivate: options.allowsPrivate ?? true,
    egressProxy: options.egressProxy,
    publicAuthorities: options.publicAuthorities,
    log: silentLogger,
    resolve: async (hostname: string) => {
      if (hostname === "missing.example") throw Object.assign(new Error("none"), { code: "ENOTFOUND" });
      if (hostname === "pair.example") return pairOfAddresses;
      return [{ address: hostname === "public.example" ? "1.1.1.1" : "127.0.0.1", family: 4 }];
    },
  });
  const functions = functionsAt(options.functionsUrl);
  // An answer that is awaited comes, however busy the machine is.
  const { attemptMs = 20_000 } = options;
  const limits = { checkMs: 3 * attemptMs, attemptMs, attemptsMax: 2, intervalMs: 1 };
  return checkHealth(endpoint, { network, functions, limits }, AbortSignal.timeout(60_000));
};

const problemOf = async (...given: Parameters<typeof check>): Promise<string> => {
  const outcome = await check(...given);
  return outcome.isHealthy ? "healthy" : outcome.problem;
};

describe("a private URL", () => {
  test.each([
    // status, outcome
    [199, "no valid answer came"],
    [200, "healthy"],
    [204, "healthy"],
    [301, "healthy"],
    [399, "healthy"],
    [400, "it answered 400"],
    [404, "it answered 404"],
    [500, "it answered 500"],
  ])("that answers %i is %s", async (status, expected) => {
    const { url } = await startBackend("b", (_request, response) => {
      if (status >= 200) response.writeHead(status).end();
      else response.socket?.end("HTTP/1.1 199 Odd\r\n\r\n");
    });
    expect(await problemOf({ url, healthUrl: undefined })).toBe(expected);
  });

  test("is asked at its path and query, or at those of its health URL", async () => {
    const backend = await startBackend("b");
    await check({ url: `${backend.url}/shop?a=b`, healthUrl: undefined });
    await check({ url: `${backend.url}/shop`, healthUrl: `${backend.url}/health` });
    expect(backend.asked).toEqual(["GET /shop?a=b", "GET /health"]);
  });

  test("fails only when it fails twice", async () => {
    let count = 0;
    const { url } = await startBackend("b", (_request, response) =>
      response.writeHead(count++ === 0 ? 503 : 200).end(),
    );
    expect(await problemOf({ url, healthUrl: undefined })).toBe("healthy");
  });

  test("that does not answer, listen or have a name is unhealthy", async () => {
    const silent = await startBackend("silent", () => {});
    const silentUrl = { url: silent.url, healthUrl: undefined };
    expect(await problemOf(silentUrl, { attemptMs: 100 })).toBe("there was no answer in time");
    await silent.close();
    expect(await problemOf({ url: silent.url, healthUrl: undefined })).toBe("the connection was refused");
    expect(await problemOf({ url: "http://missing.example", healthUrl: undefined })).toBe(
      "its name could not be resolved",
    );
  });

  test("with a health URL of another host, or of the public, is unhealthy", async () => {
    const { url, port } = await startBackend("b");
    expect(await problemOf({ url, healthUrl: `http://inside.example:${port}` })).toBe(
      "Url and HealthUrl are private and have not the same host",
    );
    expect(await problemOf({ url, healthUrl: "http://public.example" })).toBe(
      "Url and HealthUrl are not both public or both private",
    );
  });

  test("is healthy when one of its addresses is, and unhealthy when none is", async () => {
    const backend = await startBackend("b");
    const url = `http://pair.example:${backend.port}`;
    expect(await problemOf({ url, healthUrl: undefined })).toBe("healthy");
    await backend.close();
    expect(await problemOf({ url, healthUrl: undefined })).toBe("the connection was refused");
  });

  test("is not asked where private addresses are refused", async () => {
    const backend = await startBackend("b");
    expect(await problemOf({ url: backend.url, healthUrl: undefined }, { allowsPrivate: false })).toBe(
      "its address is private, which is not allowed",
    );
    expect(backend.asked).toEqual([]);
  });
});

describe("a public URL", () => {
  test("is healthy when a connection opens, secured for https, and nothing is asked", async () => {
    const directory = await temporaryDirectory();
    const authority = await createAuthority(directory);
    const plain = await startBackend("plain");
    const secure = await startSecureBackend("secure", await authority.certify("s", { hosts: ["public.example"] }));
    const ways = await startHttpProxy({ "1.1.1.1:80": plain.port, "1.1.1.1:8443": secure.port });
    const options = {
      allowsPrivate: false,
      egressProxy: ways.url,
      publicAuthorities: [await readFile(authority.file, "utf8")],
    };
    const url = "https://public.example";
    const healthUrl = "https://public.example:8443/health";
    expect(await problemOf({ url: "http://public.example/shop", healthUrl: undefined }, options)).toBe("healthy");
    expect(await problemOf({ url, healthUrl }, options)).toBe("healthy");
    expect(await problemOf({ url, healthUrl }, { ...options, publicAuthorities: [] })).toBe(
      "its certificate is not signed by a trusted authority",
    );
    expect(ways.asked).toEqual(["1.1.1.1:80", "1.1.1.1:8443", "1.1.1.1:8443", "1.1.1.1:8443"]);
    expect([...plain.asked, ...secure.asked]).toEqual([]);
  });

  test("that takes no connection is unhealthy after two attempts", async () => {
    const { url, asked } = await startHttpProxy({});
    const endpoint = { url: "http://public.example:81", healthUrl: undefined };
    expect(await problemOf(endpoint, { allowsPrivate: false, egressProxy: url })).toBe(
      "the HTTP proxy on the way to it opened no connection",
    );
    expect(asked).toEqual(["1.1.1.1:81", "1.1.1.1:81"]);
  });
});

describe("a function", () => {
  const arn = "arn:aws:lambda:us-east-1:000000000000:function:orders:live";

  test.each([
    // status, body, outcome
    [200, '{"Configuration":{"State":"Active"}}', "healthy"],
    [200, '{"Configuration":{"State":"Pending"}}', "healthy"],
    [200, "{}", "healthy"],
    [200, '{"Configuration":{"State":"Failed"}}', "the function is in the state Failed"],
    [404, "{}", "the function does not exist"],
    [500, "{}", "the functions' address answers 500"],
  ])("told as %i %s is %s", async (status, body, expected) => {
    const functions = await startBackend("functions", (_request, response) => response.writeHead(status).end(body));
    expect(await problemOf({ functionArn: arn }, { functionsUrl: functions.url })).toBe(expected);
    expect(functions.asked[0]).toBe("GET /2015-03-31/functions/orders%3Alive");
  });

  test.each([
    // status of the update, outcome
    [200, "healthy"],
    [409, "the update of the inactive function is answered 409"],
  ])("that is inactive is provisioned by an update of its configuration, answered %i: %s", async (status, expected) => {
    const functions = await startBackend("functions", (request, response) => {
      if (request.method === "GET") response.end('{"Configuration":{"State":"Inactive"}}');
      else response.writeHead(status).end("{}");
    });
    expect(await problemOf({ functionArn: arn }, { functionsUrl: functions.url })).toBe(expected);
    expect(functions.asked.slice(0, 2)).toEqual([
      "GET /2015-03-31/functions/orders%3Alive",
      "PUT /2015-03-31/functions/orders/configuration",
    ]);
  });

  test("is unhealthy where no address for functions is set", async () => {
    expect(await problemOf({ functionArn: arn })).toBe("no address for functions is set");
  });
});

test("a check that is given up ends with the reason", async () => {
  const server = createServer(() => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const network = new ServiceNetwork({ allowsPrivate: true, resolve: async () => [], log: silentLogger });
  const functions = functionsAt(undefined);
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const given = new AbortController();
  const checked = checkHealth({ url, healthUrl: undefined }, { network, functions }, given.signal);
  given.abort(new Error("stopping"));
  await expect(checked).rejects.toThrow("stopping");
});
