import { expect, test } from "vitest";

import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { outcomeOf } from "../access/in-process.ts";
import type { Harness } from "../harness.ts";
import { alice, as, bob, put, refusalOf, startWithBucket } from "../harness.ts";

/** The secret of RFC 6238, appendix B, which lists its codes. */
const device = {
  accountId: alice,
  serial: "arn:aws:iam::111111111111:mfa/root",
  secret: Buffer.from("12345678901234567890"),
};
/** The instant of the first code; the second is that of the next step. */
const startMs = 1_111_111_109_000;
const [first, second] = ["081804", "050471"];
const cat = { bucket: "photos", key: "cat.jpg" };

const accounts = accountsOf({
  accounts: [],
  users: [],
  roles: [],
  organizations: new Map(),
  accessKeys: [],
  mfaDevices: [device, { ...device, accountId: bob, serial: "bob-device" }],
});

const start = async () => {
  const clock = new FakeClock(startMs);
  return { clock, harness: await startWithBucket({ clock, accounts }) };
};

const turn = (harness: Harness, mfaDelete: string | undefined, mfa: string | undefined, account = alice) =>
  refusalOf(
    harness.client.putBucketVersioning(
      {
        bucket: "photos",
        versioningConfiguration: { status: "Enabled", ...(mfaDelete && { mfaDelete }) },
        ...(mfa !== undefined && { mfa }),
      },
      as(account),
    ),
  );

const withCode = (code: string) => `${device.serial} ${code}`;

test("a code of the owner's device turns MFA delete on, and another one deletes a version", async () => {
  const { harness, clock } = await start();
  expect(await turn(harness, "Enabled", withCode(first))).toBe("answered");
  expect(await harness.client.getBucketVersioning({ bucket: "photos" }, as(alice))).toMatchObject({
    status: "Enabled",
    mfaDelete: "Enabled",
  });
  const versionId = (await put(harness, cat, "meow")).versionId ?? "";
  const marker = await harness.client.deleteObject(cat, as(alice));
  expect(marker.deleteMarker).toBe(true);
  const remove = (mfa?: string) =>
    refusalOf(harness.client.deleteObject({ ...cat, versionId, ...(mfa !== undefined && { mfa }) }, as(alice)));
  expect(await remove()).toBe("ACCESS_DENIED");
  expect(await remove(withCode(first))).toBe("ACCESS_DENIED");
  clock.advance(2_000);
  expect(await remove(withCode(second))).toBe("answered");
  expect(await turn(harness, undefined, withCode(second))).toBe("ACCESS_DENIED");
});

test("changes of versioning need a code once MFA delete is on, and saying that it is off needs none", async () => {
  const { harness, clock } = await start();
  expect(await turn(harness, "Disabled", undefined)).toBe("answered");
  expect(await turn(harness, "Enabled", withCode(first))).toBe("answered");
  expect(await turn(harness, undefined, undefined)).toBe("ACCESS_DENIED");
  clock.advance(2_000);
  expect(await turn(harness, "Disabled", withCode(second))).toBe("answered");
  expect(await turn(harness, undefined, undefined)).toBe("answered");
  const { mfaDelete } = await harness.client.getBucketVersioning({ bucket: "photos" }, as(alice));
  expect(mfaDelete).toBe("Disabled");
});

test("a batch with a version is refused as a whole without a code, and one code is good for all of it", async () => {
  const { harness, clock } = await start();
  await turn(harness, "Enabled", withCode(first));
  const versionId = (await put(harness, cat, "meow")).versionId ?? "";
  const removeAll = (objects: { key: string; versionId?: string }[], mfa?: string) =>
    harness.client.deleteObjects(
      { bucket: "photos", delete: { objects }, ...(mfa !== undefined && { mfa }) },
      as(alice),
    );
  const plain = Array.from({ length: 150 }, (_none, index) => ({ key: `dog-${index}` }));
  expect(await refusalOf(removeAll([...plain, { ...cat, versionId }]))).toBe("ACCESS_DENIED");
  expect((await harness.client.listObjectVersions({ bucket: "photos" }, as(alice))).deleteMarkers).toEqual([]);
  expect((await removeAll(plain.slice(0, 2))).errors).toEqual([]);
  clock.advance(2_000);
  const answer = await removeAll([...plain, { ...cat, versionId }], withCode(second));
  expect(answer.errors).toEqual([]);
  expect(answer.deleted).toHaveLength(151);
});

test.each([
  // MFA, who calls
  [undefined, alice],
  ["", alice],
  [device.serial, alice],
  [first, alice],
  [withCode("081805"), alice],
  [`other ${first}`, alice],
  [`bob-device ${first}`, alice],
  [withCode(first), bob],
])("MFA delete is not turned on by %j of %s", async (mfa, account) => {
  const { harness } = await start();
  expect(await turn(harness, "Enabled", mfa, account)).toBe("ACCESS_DENIED");
});

test("MFA delete is turned on by the owner's root only, not by its users", async () => {
  const { harness } = await start();
  const request = { bucket: "photos", versioningConfiguration: { status: "Enabled", mfaDelete: "Enabled" } };
  const policy = JSON.stringify({ Statement: [{ Effect: "Allow", Action: "s3:*", Resource: "*" }] });
  const { app } = harness.opened;
  const call = (caller: ReturnType<typeof rootCaller>) =>
    outcomeOf(app, "putBucketVersioning", { ...request, mfa: withCode(first) }, caller);
  expect(await call(userCaller(alice, "ann", [policy]))).toBe("ACCESS_DENIED");
  expect(await call(rootCaller(alice))).toBe("answered");
});
