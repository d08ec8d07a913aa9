import { describe, expect, test } from "vitest";

import type { RequestFacts } from "../../../services/kit/identity/caller.ts";
import { readRequestFacts, requestFactHeaders } from "../../../services/kit/identity/request-facts.ts";

describe("the facts of a request", () => {
  // the facts, the headers, what is read from them
  test.for<[string, RequestFacts, Record<string, string>, RequestFacts | undefined]>([
    ["none", {}, {}, undefined],
    [
      "all",
      { userAgent: "aws-cli/2.0", referer: "https://example.com/", signatureAgeMs: 1_500, isForm: true },
      {
        "x-quartet-user-agent": "aws-cli/2.0",
        "x-quartet-referer": "https://example.com/",
        "x-quartet-signature-age": "1500",
        "x-quartet-form": "1",
      },
      { userAgent: "aws-cli/2.0", referer: "https://example.com/", signatureAgeMs: 1_500, isForm: true },
    ],
    ["that it was a form", { isForm: true }, { "x-quartet-form": "1" }, { isForm: true }],
    [
      "text that no header may have",
      { userAgent: "caf\u00e9\r\n\u0007" },
      { "x-quartet-user-agent": "caf????" },
      { userAgent: "caf????" },
    ],
    [
      "text that is too long",
      { referer: "r".repeat(1_025) },
      { "x-quartet-referer": "r".repeat(1_024) },
      { referer: "r".repeat(1_024) },
    ],
  ])("are sent as headers: %s", ([, facts, headers, read]) => {
    expect(requestFactHeaders(facts)).toEqual(headers);
    expect(readRequestFacts(headers)).toEqual(read);
  });

  // the headers, what is read from them
  test.for<[string, Record<string, string>, RequestFacts | undefined]>([
    ["an age that is no number", { "x-quartet-signature-age": "-1" }, undefined],
    ["another word about forms", { "x-quartet-form": "yes" }, undefined],
    ["an age sent twice", { "x-quartet-signature-age": "1, 2" }, undefined],
    ["a text over the limit", { "x-quartet-user-agent": "u".repeat(2_000) }, { userAgent: "u".repeat(1_024) }],
  ])("are bounded by their reader: %s", ([, headers, read]) => {
    expect(readRequestFacts(headers)).toEqual(read);
  });
});
