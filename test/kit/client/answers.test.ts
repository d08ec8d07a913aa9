import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { mayHaveHeader, StreamAnswer, UnaryAnswer } from "../../../services/kit/client/answers.ts";

const refuse = (): never => {
  throw new Error("the headers were created");
};

test("whether an answer may have a header is known without creating its headers", () => {
  const { getBucketTagging, getObject } = ObjectStorageService.method;
  const message = create(getBucketTagging.output);
  const received = { "x-given": "1" };
  const unary = new UnaryAnswer(getBucketTagging, message, refuse, received);
  const stream = new StreamAnswer(getObject, refuse, (async function* () {})(), received);
  const unknown = new UnaryAnswer(getBucketTagging, message, refuse);
  expect([unary, stream, unknown].map((answer) => mayHaveHeader(answer, "x-given"))).toEqual([true, true, true]);
  expect([unary, stream, unknown].map((answer) => mayHaveHeader(answer, "x-other"))).toEqual([false, false, true]);
});
