import { expect, test } from "vitest";

import { parseResourceName } from "../../../services/customer-profile/domain/resource-name.ts";

test.each([
  ["domains/shop", { kind: "domain", domainName: "shop" }],
  ["domains/shop/object-types/order", { kind: "objectType", domainName: "shop", objectTypeName: "order" }],
  [
    "domains/shop/integrations/arn:aws:s3:::in/x",
    { kind: "integration", domainName: "shop", uri: "arn:aws:s3:::in/x" },
  ],
  ["domains/", undefined],
  ["domains/shop/", undefined],
  ["domains/shop/object-types/a/b", undefined],
  ["domains/shop/event-streams/e", undefined],
  ["profiles/x", undefined],
] as const)("the name %s is read as what it names", (text, expected) => {
  expect(parseResourceName(text)).toEqual(expected);
});
