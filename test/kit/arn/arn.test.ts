import { describe, expect, test } from "vitest";

import { arn, parseArn } from "../../../services/kit/arn/arn.ts";

describe("arn", () => {
  test("joins the six parts by colons", () => {
    expect(
      arn({
        partition: "aws",
        service: "events",
        region: "us-east-1",
        account: "000000000000",
        resource: "rule/orders/new-order",
      }),
    ).toBe("arn:aws:events:us-east-1:000000000000:rule/orders/new-order");
  });

  test("keeps the colons of parts that are empty", () => {
    expect(arn({ partition: "svc", service: "object-storage", region: "", account: "", resource: "photos" })).toBe(
      "arn:svc:object-storage:::photos",
    );
  });
});

describe("parseArn", () => {
  // text | partition | service | region | account | resource
  const accepted: [string, string, string, string, string, string][] = [
    ["arn:aws:s3:::photos", "aws", "s3", "", "", "photos"],
    [
      "arn:svc:event-bus:eu-1:123456789012:event-bus/default",
      "svc",
      "event-bus",
      "eu-1",
      "123456789012",
      "event-bus/default",
    ],
    ["arn:aws-cn:sns:cn-north-1:123456789012:a:b:c", "aws-cn", "sns", "cn-north-1", "123456789012", "a:b:c"],
    ["arn:aws:iam::aws:policy/ReadOnly", "aws", "iam", "", "aws", "policy/ReadOnly"],
    ["arn:aws:s3:::bucket/key with blank", "aws", "s3", "", "", "bucket/key with blank"],
  ];
  test.each(accepted)("reads %s", (text, partition, service, region, account, resource) => {
    expect(parseArn(text)).toEqual({ partition, service, region, account, resource });
  });

  test.each([
    [""],
    ["photos"],
    ["arn:aws:s3::photos"],
    ["arn:aws:s3:::"],
    ["arn::s3:::photos"],
    ["arn:aws::::photos"],
    ["arn:aws:s3:::photos\n"],
    ["ARN:aws:s3:::photos"],
    ["arn:aws:events:us-east-1:12345:rule/x"],
  ])("does not take %j for a resource name", (text) => {
    expect(parseArn(text)).toBeUndefined();
  });
});
