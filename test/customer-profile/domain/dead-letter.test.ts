import { describe, expect, test } from "vitest";

import {
  findQueueProblem,
  letterBody,
  queueOf,
  withoutObject,
} from "../../../services/customer-profile/domain/dead-letter.ts";

const shape = "it must be the URL of a queue, https://<host>/<account>/<name>";

describe("the URL of a queue", () => {
  // text, problem
  test.each<[string, string | undefined]>([
    ["", undefined],
    ["https://sqs.us-east-1.amazonaws.com/000000000000/errors", undefined],
    ["http://127.0.0.1:9324/000000000000/errors.fifo", undefined],
    ["http://localhost:4566/queue/us-east-1/000000000000/errors", undefined],
    [`https://q.example/000000000000/${"n".repeat(80)}`, undefined],
    [`https://q.example/000000000000/${"n".repeat(81)}`, shape],
    [`https://q.example/000000000000/${"n".repeat(76)}.fifo`, shape],
    ["errors", shape],
    ["arn:aws:sqs:us-east-1:000000000000:errors", shape],
    ["ftp://q.example/000000000000/errors", shape],
    ["https://q.example/errors", shape],
    ["https://q.example/shop/errors", shape],
    ["https://q.example/000000000000/err%20ors", shape],
    ["https://q.example/000000000000/errors/", shape],
    ["https://q.example/000000000000/errors?x=1", shape],
    ["https://user:word@q.example/000000000000/errors", shape],
    ["https://q.example/111111111111/errors", "it must be a queue of the own account"],
  ])("%s has the problem %s", (text, problem) => {
    expect(findQueueProblem(text, "000000000000")).toBe(problem);
  });

  test("names an account and a queue", () => {
    expect(queueOf("http://127.0.0.1:9324/x/000000000000/errors.fifo")).toEqual({
      account: "000000000000",
      name: "errors.fifo",
    });
  });
});

test("a message spells the two characters that queues refuse, and is the same document", () => {
  const body = letterBody({
    letterId: "0e",
    domainName: "shop",
    objectTypeName: "order",
    objectKey: "0d",
    object: '{"a":"\ufffe\uffff\ufffd"}',
    errorCode: "OBJECT_MATCHES_NO_PROFILE",
    errorMessage: "None.",
    failedMs: 0,
  });
  expect(body).toBe(
    '{"Version":"1.0","Id":"0e","Time":"1970-01-01T00:00:00.000Z","DomainName":"shop","ObjectTypeName":"order",' +
      '"ProfileObjectUniqueKey":"0d","ErrorCode":"OBJECT_MATCHES_NO_PROFILE","ErrorMessage":"None.",' +
      '"Object":"{\\"a\\":\\"\\ufffe\\uffff\ufffd\\"}"}',
  );
  expect(JSON.parse(body)).toMatchObject({ Object: '{"a":"\ufffe\uffff\ufffd"}' });
  expect(JSON.parse(withoutObject(body))).toMatchObject({ Id: "0e", Object: null });
});
