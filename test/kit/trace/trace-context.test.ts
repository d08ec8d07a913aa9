import { describe, expect, test } from "vitest";

import { formatTraceparent, parseTrace, startTrace, traceHeaders } from "../../../services/kit/trace/trace-context.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";

describe("a traceparent", () => {
  test("has trace, span and flags", () => {
    expect(parseTrace(`00-${traceId}-${spanId}-01`, undefined)).toEqual({ traceId, spanId, flags: 1, state: "" });
  });

  test.each([
    // what                         header
    ["is missing", undefined],
    ["is empty", ""],
    ["has letters in upper case", `00-${traceId.toUpperCase()}-${spanId}-01`],
    ["has a short trace id", `00-${traceId.slice(1)}-${spanId}-01`],
    ["has the zero trace id", `00-${"0".repeat(32)}-${spanId}-01`],
    ["has the zero span id", `00-${traceId}-${"0".repeat(16)}-01`],
    ["has a part too many for its version", `00-${traceId}-${spanId}-01-more`],
    ["has the version that is none", `ff-${traceId}-${spanId}-01`],
    ["is several", `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`],
    ["has line breaks", `00-${traceId}-${spanId}-01\r\nx: y`],
  ])("that %s is none", (_what, header) => {
    expect(parseTrace(header, "vendor=1")).toBeUndefined();
  });

  test("of a later version may have more parts", () => {
    expect(parseTrace(`cc-${traceId}-${spanId}-03-what-is-to-come`, undefined)).toMatchObject({ traceId, flags: 3 });
  });

  test("is sent on in the version and with the flags that are known here", () => {
    expect(formatTraceparent({ traceId, spanId, flags: 0xff, state: "" })).toBe(`00-${traceId}-${spanId}-01`);
  });
});

describe("a tracestate", () => {
  test.each([
    // tracestate                     passed on
    ["congo=t61rcWkgMzE,rojo=00f067", "congo=t61rcWkgMzE,rojo=00f067"],
    ["x".repeat(512), "x".repeat(512)],
    ["x".repeat(513), undefined],
    ["with=ümlaut", undefined],
    ["", undefined],
  ])("$0 goes on as $1", (given, expected) => {
    const trace = parseTrace(`00-${traceId}-${spanId}-00`, given);
    expect(trace && traceHeaders(trace)["tracestate"]).toBe(expected);
  });
});

describe("a new trace", () => {
  test("has ids of its own, also when many begin", () => {
    const ids = Array.from({ length: 1000 }, () => startTrace());
    expect(new Set(ids.map((each) => each.traceId)).size).toBe(1000);
    expect(new Set(ids.map((each) => each.spanId)).size).toBe(1000);
    expect(ids.every((each) => /^[0-9a-f]{32}$/.test(each.traceId) && /^[0-9a-f]{16}$/.test(each.spanId))).toBe(true);
  });
});
