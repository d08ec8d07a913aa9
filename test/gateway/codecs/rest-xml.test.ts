import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { GetBucketLocationResponseSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { readMembers, writeMembers } from "../../../gateway/codecs/rest-xml.ts";
import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { spellingOf } from "../../../gateway/dialects/dialect.ts";

const spelling = spellingOf(amzDialect);

describe("a member that is the text of its message's own element", () => {
  const document =
    '<?xml version="1.0" encoding="UTF-8"?>\n<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/">eu-west-1</LocationConstraint>';

  test("is written without an element of its own", () => {
    const message = create(GetBucketLocationResponseSchema, { locationConstraint: "eu-west-1" });
    expect(writeMembers(message, GetBucketLocationResponseSchema, spelling)?.body.toString()).toBe(document);
  });

  test("is read back", () => {
    const message = create(GetBucketLocationResponseSchema);
    readMembers(message, GetBucketLocationResponseSchema, Buffer.from(document), { spelling, violations: [] });
    expect(message.locationConstraint).toBe("eu-west-1");
  });

  test("leaves an empty root when it is not set", () => {
    const message = create(GetBucketLocationResponseSchema);
    expect(writeMembers(message, GetBucketLocationResponseSchema, spelling)?.body.toString()).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>',
    );
  });
});
