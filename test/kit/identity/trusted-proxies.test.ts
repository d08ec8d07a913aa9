import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";

import { describe, expect, test } from "vitest";

import { TrustedProxies } from "../../../services/kit/identity/trusted-proxies.ts";

const proxies = new TrustedProxies(["10.0.0.0/8", "fd00::/8"]);
const connectionFrom = (remoteAddress: string | undefined, tlsVersion?: string): Socket =>
  ({
    remoteAddress,
    ...(tlsVersion !== undefined && { encrypted: true, getProtocol: () => tlsVersion }),
  }) as unknown as Socket;
const everything = {
  "x-forwarded-for": "198.51.100.1",
  "x-forwarded-proto": "https",
  "x-forwarded-host": "shop.example",
  "x-forwarded-port": "443",
};

describe("what is said of a client", () => {
  test.each(["198.51.100.9", "11.0.0.1", "::1", undefined])("does not count from %s", (address) => {
    expect(proxies.readForwarded(everything, connectionFrom(address))).toBeUndefined();
    expect(proxies.readFacts(everything, connectionFrom(address))).toBeUndefined();
  });

  test("counts from nobody where no proxy is named", () => {
    expect(new TrustedProxies().readForwarded(everything, connectionFrom("10.0.0.1"))).toBeUndefined();
  });

  test("counts from an address mapped into IPv6", () => {
    expect(proxies.readForwarded(everything, connectionFrom("::ffff:10.0.0.1"))?.clientAddress).toBe("198.51.100.1");
  });

  test("may be nothing", () => {
    expect(proxies.readForwarded({}, connectionFrom("10.0.0.1"))).toEqual({ clientAddress: "10.0.0.1" });
  });
});

/** The client behind proxies, by what they say; the last of them is 10.0.0.1. */
const clients: readonly (readonly [string, string])[] = [
  ["198.51.100.1", "198.51.100.1"],
  ["198.51.100.1:4711", "198.51.100.1"],
  ["2001:db8::1", "2001:db8::1"],
  ["[2001:db8::1]", "2001:db8::1"],
  ["[2001:db8::1]:4711", "2001:db8::1"],
  // A client wrote the first one itself.
  ["192.0.2.1, 198.51.100.1", "198.51.100.1"],
  ["192.0.2.1, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
  ["198.51.100.1,10.0.0.3 ,  fd00::2", "198.51.100.1"],
  ["10.0.0.3, 10.0.0.2", "10.0.0.3"],
  ["192.0.2.1, unknown, 10.0.0.2", "10.0.0.2"],
  ["unknown", "10.0.0.1"],
  ["", "10.0.0.1"],
  ["198.51.100.1, ", "10.0.0.1"],
  ["198.51.100.1:port", "10.0.0.1"],
  ["1.2.3", "10.0.0.1"],
];

test.each(clients)("X-Forwarded-For: %s names the client %s", (header, client) => {
  const facts = proxies.readForwarded({ "x-forwarded-for": header }, connectionFrom("10.0.0.1"));
  expect(facts?.clientAddress).toBe(client);
});

const others: readonly (readonly [IncomingHttpHeaders, object])[] = [
  [everything, { protocol: "https", host: "shop.example", port: 443 }],
  [{ "x-forwarded-proto": "HTTP" }, { protocol: "http" }],
  [{ "x-forwarded-proto": "https, http" }, { protocol: "http" }],
  [{ "x-forwarded-proto": "wss" }, {}],
  [{ "x-forwarded-proto": "https," }, {}],
  [{ "x-forwarded-host": "a.example, [fd00::1]:8443" }, { host: "[fd00::1]:8443" }],
  [{ "x-forwarded-host": "a b" }, {}],
  [{ "x-forwarded-host": "a/b" }, {}],
  [{ "x-forwarded-port": "80, 8443" }, { port: 8_443 }],
  [{ "x-forwarded-port": "65536" }, {}],
  [{ "x-forwarded-port": "-1" }, {}],
];

test.each(others)("%j says %j", (headers, said) => {
  const { clientAddress, ...facts } = proxies.readForwarded(headers, connectionFrom("10.0.0.1")) ?? {};
  expect(clientAddress).toBeDefined();
  expect(facts).toEqual(said);
});

describe("policies are told", () => {
  test.each([
    // what the proxy says, the version of TLS between it and here, facts
    ["https", undefined, { isSecureTransport: true }],
    ["http", undefined, { isSecureTransport: false }],
    ["https", "TLSv1.3", { isSecureTransport: true }],
    ["http", "TLSv1.3", { isSecureTransport: false }],
    [undefined, "TLSv1.3", { isSecureTransport: true, tlsVersion: "1.3" }],
    [undefined, undefined, { isSecureTransport: false }],
  ] as const)("of a client that the proxy says used %s, over %s", (protocol, tlsVersion, facts) => {
    const headers = { "x-forwarded-for": "198.51.100.1", ...(protocol && { "x-forwarded-proto": protocol }) };
    expect(proxies.readFacts(headers, connectionFrom("10.0.0.1", tlsVersion))).toEqual({
      sourceIp: "198.51.100.1",
      ...facts,
    });
  });
});
