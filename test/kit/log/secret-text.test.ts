import { expect, test } from "vitest";

import { describeError } from "../../../services/kit/log/error-description.ts";
import { hideSecrets } from "../../../services/kit/log/secret-text.ts";

test.each([
  // what is logged                                              what the line has
  ["authorization: Bearer eyJh.eyJz.c2ln", "authorization: Bearer [hidden]"],
  ['{"a":"Basic YWRhOmh1c2g="}', '{"a":"Basic [hidden]"}'],
  ["/vault/a?X-Amz-Signature=0badc0de&x=1", "/vault/a?X-Amz-Signature=[hidden]&x=1"],
  ["SignedHeaders=host, Signature=0badc0de", "SignedHeaders=host, Signature=[hidden]"],
  ["X-Svc-Security-Token%3Dhush", "X-Svc-Security-Token%3D[hidden]"],
  ["the signature is wrong; basic rules hold", "the signature is wrong; basic rules hold"],
  ["nothing to hide", "nothing to hide"],
])("%s is written as %s", (line, expected) => {
  expect(hideSecrets(line)).toBe(expected);
});

test("an error is described by its text, code and causes, without what hangs on it", () => {
  const cause = Object.assign(new TypeError("inner"), { headers: { authorization: "hush" } });
  const error = Object.assign(new Error("outer", { cause }), { code: "ECONNREFUSED", request: { body: "hush" } });
  const described = describeError(error);
  expect(described).toMatchObject({
    type: "Error",
    message: "outer",
    code: "ECONNREFUSED",
    cause: { type: "TypeError", message: "inner" },
  });
  expect(JSON.stringify(described)).not.toContain("hush");
});

test("what is thrown and no error is described by its type", () => {
  expect(describeError({ password: "hush" })).toBe("object");
});

test("causes that go round in a circle are cut", () => {
  const error = new Error("round");
  error.cause = error;
  expect(JSON.stringify(describeError(error)).match(/"round"/g)).toHaveLength(5);
});
