import { expect, test } from "vitest";

import { acceptsGzip } from "../../../services/kit/wire/gzip.ts";
import { parseConnectTimeout, parseGrpcTimeout } from "../../../services/kit/wire/timeouts.ts";

test.each([
  // header, milliseconds
  [undefined, undefined],
  ["1H", 3_600_000],
  ["2M", 120_000],
  ["3S", 3000],
  ["99999999m", 99_999_999],
  ["500u", 0.5],
])("grpc-timeout %s is %s ms", (text, expected) => {
  expect(parseGrpcTimeout(text)).toBe(expected);
});

test.each(["", "1", "S", "100000000S", "-1S", "1s", "1.5S"])("grpc-timeout %j is refused", (text) => {
  expect(() => parseGrpcTimeout(text)).toThrow("The grpc-timeout header is malformed.");
});

test.each([
  [undefined, undefined],
  ["0", 0],
  ["9999999999", 9_999_999_999],
])("connect-timeout-ms %s is %s ms", (text, expected) => {
  expect(parseConnectTimeout(text)).toBe(expected);
});

test.each(["", "10000000000", "-1", "1m"])("connect-timeout-ms %j is refused", (text) => {
  expect(() => parseConnectTimeout(text)).toThrow("The connect-timeout-ms header is malformed.");
});

test.each([
  [undefined, false],
  ["gzip", true],
  ["br, gzip", true],
  ["gzip;q=0.5, br", true],
  ["gzip;q=0", false],
  ["gzip;q=0.0, br", false],
  ["x-gzip", true],
  ["identity", false],
  ["notgzip", false],
])("accept-encoding %j asks for gzip: %s", (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});

test("a list of codings is read in a time that grows with its length only", () => {
  const startedMs = performance.now();
  expect(acceptsGzip(`gzip${" ".repeat(200_000)}x`)).toBe(false);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
});
