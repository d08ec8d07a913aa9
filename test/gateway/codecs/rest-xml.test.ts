import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import {
  GetBucketLocationResponseSchema,
  GetBucketTaggingResponseSchema,
  GetBucketWebsiteResponseSchema,
  ListObjectsV2ResponseSchema,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
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

test("a document of a thousand items is the text of all of them", () => {
  const contents = Array.from({ length: 1_000 }, () => ({ key: "\u26f5 & 1", size: 3n, owner: {} }));
  const message = create(ListObjectsV2ResponseSchema, {
    name: "photos",
    contents,
    commonPrefixes: [{ prefix: "a/" }, {}],
  });
  expect(writeMembers(message, ListObjectsV2ResponseSchema, spelling)?.body.toString()).toBe(
    [
      '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
      "<Contents><Key>\u26f5 &amp; 1</Key><Size>3</Size><Owner/></Contents>".repeat(1_000),
      "<Name>photos</Name><CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes><CommonPrefixes/></ListBucketResult>",
    ].join(""),
  );
});

describe("an empty list of the document itself", () => {
  test("is an empty element", () => {
    const message = create(GetBucketTaggingResponseSchema);
    expect(writeMembers(message, GetBucketTaggingResponseSchema, spelling)?.body.toString()).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n<Tagging xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><TagSet/></Tagging>',
    );
  });

  test("is left out where the contract says so", () => {
    const message = create(GetBucketWebsiteResponseSchema, { indexDocument: { suffix: "index.html" } });
    expect(writeMembers(message, GetBucketWebsiteResponseSchema, spelling)?.body.toString()).toBe(
      [
        '<?xml version="1.0" encoding="UTF-8"?>\n<WebsiteConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
        "<IndexDocument><Suffix>index.html</Suffix></IndexDocument></WebsiteConfiguration>",
      ].join(""),
    );
  });
});
