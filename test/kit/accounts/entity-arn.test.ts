import { expect, test } from "vitest";

import type { Role } from "../../../services/kit/accounts/accounts.ts";
import { entityArn, namedWithPath, pathNameOfArn, roleOfArn } from "../../../services/kit/accounts/entity-arn.ts";

const shop = "111122223333";

test.each([
  ["carol", { name: "carol", path: "/" }],
  ["team/carol", { name: "carol", path: "/team/" }],
  ["/team/carol", { name: "carol", path: "/team/" }],
  ["a/b/carol", { name: "carol", path: "/a/b/" }],
])("what is written as %s has a name and a path", (written, expected) => {
  expect(namedWithPath(written)).toEqual(expected);
});

// the entity | its ARN | its name with its path
test.each([
  [{ name: "reader" }, `arn:aws:iam::${shop}:role/reader`, "reader"],
  [{ name: "reader", path: "/" }, `arn:aws:iam::${shop}:role/reader`, "reader"],
  [{ name: "reader", path: "/a/b/" }, `arn:aws:iam::${shop}:role/a/b/reader`, "a/b/reader"],
  [{ name: "reader", path: "//" }, `arn:aws:iam::${shop}:role//reader`, "/reader"],
])("the role %o has its path in its ARN", (entity, arn, pathName) => {
  expect(entityArn(shop, "role", entity)).toBe(arn);
  expect(pathNameOfArn(arn)).toBe(pathName);
});

test.each([
  [`arn:aws:iam::${shop}:role/team/Reader`, true],
  [`arn:svc:iam::${shop}:role/team/Reader`, true],
  [`arn:aws:iam::${shop}:role/team/reader`, false],
  [`arn:aws:iam::${shop}:role/Team/Reader`, false],
  [`arn:aws:iam::${shop}:role/Reader`, false],
  [`arn:aws:iam::${shop}:role/other/Reader`, false],
  [`arn:aws:iam::${shop}:role/team/more/Reader`, false],
  [`arn:aws:iam::${shop}:user/team/Reader`, false],
  [`arn:aws:sts::${shop}:role/team/Reader`, false],
  [`arn:aws:iam:us-east-1:${shop}:role/team/Reader`, false],
  [`arn:aws:iam::444455556666:role/team/Reader`, false],
  ["team/Reader", false],
  ["", false],
])("the ARN %s finds the role: %s", (arn, isFound) => {
  const role = { accountId: shop, name: "Reader", arn: `arn:aws:iam::${shop}:role/team/Reader` } as Role;
  const byName = (accountId: string, name: string): Role | undefined =>
    accountId === shop && name.toLowerCase() === "reader" ? role : undefined;
  expect(roleOfArn(arn, byName)).toBe(isFound ? role : undefined);
});
