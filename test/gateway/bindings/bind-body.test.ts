import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  ObjectStorageService,
  PutBucketPolicyRequestSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { bindBody } from "../../../gateway/bindings/bind-request.ts";
import * as restXml from "../../../gateway/codecs/rest-xml.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { methodContract } from "../../../services/kit/contract/contract.ts";

const method = methodContract(ObjectStorageService.method.putBucketPolicy);

const bound = (body: string): string | undefined => {
  const message = create(PutBucketPolicyRequestSchema);
  bindBody(method, message, Buffer.from(body), restXml, { spelling: spellingOf(amzDialect), violations: [] });
  return message.policy;
};

describe("a body that is the text of one member", () => {
  test("is read as it is", () => {
    expect(bound('{"Statement":[]} é')).toBe('{"Statement":[]} é');
  });

  test("is refused when it is empty and required", () => {
    expect(() => bound("")).toThrow("The request needs a body.");
  });
});
