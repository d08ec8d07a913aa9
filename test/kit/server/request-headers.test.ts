import { describe, expect, test } from "vitest";

import { ReceivedHeaders } from "../../../services/kit/server/request-headers.ts";

const received = new ReceivedHeaders({
  ":path": "/quartet",
  "x-name": " Ada ",
  "x-empty": "",
  "x-list": ["one", "two"],
  "x-absent": undefined,
});

describe("the headers of a request are read as those of the platform", () => {
  test.each([
    // name, value
    ["x-name", "Ada"],
    ["X-NAME", "Ada"],
    ["x-empty", ""],
    ["x-list", "one, two"],
    ["x-absent", null],
    ["x-other", null],
    ["constructor", null],
  ])("%s: %j", (name, value) => {
    expect([received.get(name), received.has(name)]).toEqual([value, value !== null]);
  });

  test("all of them, without those that HTTP/2 has instead of a request line", () => {
    expect([...received]).toEqual([
      ["x-name", "Ada"],
      ["x-empty", ""],
      ["x-list", "one, two"],
    ]);
  });
});
