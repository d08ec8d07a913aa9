import { expect, test } from "vitest";

import { CustomerProfileService } from "../../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ObjectStorageService } from "../../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { eventually } from "../../../support/eventually.ts";
import { startServiceProcess } from "../../../support/service-process.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { flowOf } from "./imports.ts";

const rows = 10_000;

test("a flow reads a bucket once its policy allows it, and a kill in the middle loses and doubles nothing", async () => {
  const dataDir = await temporaryDirectory();
  const storage = await startServiceProcess({ service: ObjectStorageService, folder: "object-storage", dataDir });
  const settings = { QUARTET_CUSTOMER_PROFILE_OBJECT_STORAGE_ADDRESS: storage.url };
  const start = () =>
    startServiceProcess({ service: CustomerProfileService, folder: "customer-profile", dataDir, settings });
  await storage.client.createBucket({ bucket: "inbox" });
  const lines = Array.from({ length: rows }, (_each, index) => `${index},m${index}@x.org,Name ${index}`);
  const body = Buffer.from(`id,mail,name\n${lines.join("\n")}\n`);
  async function* messages() {
    yield await Promise.resolve({ bucket: "inbox", key: "people.csv", contentLength: BigInt(body.length) });
    yield { body };
  }
  await storage.client.putObject(messages());

  const first = await start();
  await first.client.createDomain({ domainName: "shop", defaultExpirationDays: 30 });
  await first.client.putProfileObjectType({
    domainName: "shop",
    objectTypeName: "person",
    description: "People",
    allowProfileCreation: true,
    fields: { id: { source: "_source.id" }, mail: { source: "_source.mail", target: "_profile.EmailAddress" } },
    keys: { id: { items: [{ fieldNames: ["id"], standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
  });
  const integration = { domainName: "shop", uri: "inbox", objectTypeName: "person" };
  await first.client.putIntegration({ ...integration, flowDefinition: flowOf() });
  const entryOf = async ({ url, token }: Pick<typeof first, "url" | "token">): Promise<Entry | undefined> => {
    const answer = await fetch(`${url}/flows`, { headers: { authorization: `Bearer ${await token()}` } });
    return ((await answer.json()) as { readonly entries: readonly Entry[] }).entries[0];
  };
  // Object storage looks for the key of a process that it does not know once a second, so the first call may end as one
  // of nobody; the flow tries again.
  const denied = "the bucket inbox cannot be read: ACCESS_DENIED: Access Denied";
  await eventually(async () => {
    const entry = await entryOf(first);
    return entry?.state === "STUCK" && entry.problem === denied;
  }, "the flow says that it may not read");

  const source = { "aws:SourceAccount": "000000000000" };
  const statement = (Action: string, Resource: string) => ({
    Effect: "Allow",
    Principal: { Service: "appflow.amazonaws.com" },
    Action,
    Resource,
    Condition: { StringEquals: source },
  });
  const policy = {
    Version: "2012-10-17",
    Statement: [statement("s3:ListBucket", "arn:aws:s3:::inbox"), statement("s3:GetObject", "arn:aws:s3:::inbox/*")],
  };
  await storage.client.putBucketPolicy({ bucket: "inbox", policy: JSON.stringify(policy) });
  await first.client.putIntegration({ ...integration, flowDefinition: flowOf() });
  const countOf = async ({ client }: Pick<typeof first, "client">): Promise<number> =>
    Number((await client.getDomain({ domainName: "shop" })).stats?.objectCount);
  const before = await eventually(async () => {
    const count = await countOf(first);
    return count > 500 ? count : undefined;
  }, "some records are put");
  await first.kill();
  expect(before).toBeLessThan(rows);

  const second = await start();
  const over = await eventually(async () => {
    const entry = await entryOf(second);
    return entry?.state === "OVER" ? entry : undefined;
  }, "all records are put");
  expect(over.last).toMatchObject({ objects: 1, ingestedRecords: rows, failedRecords: 0 });
  const { stats } = await second.client.getDomain({ domainName: "shop" });
  expect([stats?.profileCount, stats?.objectCount]).toEqual([BigInt(rows), BigInt(rows)]);
});

/** What the page of flows says of a flow. */
interface Entry {
  readonly state: string;
  readonly problem?: string;
  readonly last?: object;
}
