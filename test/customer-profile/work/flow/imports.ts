import type { MessageInitShape } from "@bufbuild/protobuf";

import type { FlowDefinitionSchema } from "../../../../gen/quartet/customerprofile/v1/integration_pb.ts";
import { bucketSource } from "../../../../services/customer-profile/sources/bucket-source.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import type { Harness as StorageHarness } from "../../../object-storage/harness.ts";
import { as, startHarness as startStorage } from "../../../object-storage/harness.ts";
import type { Harness, HarnessOptions } from "../../harness.ts";
import { ownerAccount, startHarness } from "../../harness.ts";

type Flow = MessageInitShape<typeof FlowDefinitionSchema>;

/** A flow from the bucket `inbox`, on demand and with a map of each field, with changes. */
export const flowOf = (changes: object = {}): Flow => ({
  flowName: "people",
  kmsArn: "arn:aws:kms:us-east-1:000000000000:key/k",
  sourceFlowConfig: { connectorType: "S3", sourceConnectorProperties: { s3: { bucketName: "inbox" } } },
  tasks: [{ taskType: "Map", sourceFields: ["id", "mail", "name"] }],
  triggerConfig: { triggerType: "OnDemand" },
  ...changes,
});

/** A customer profile service and an object storage service whose time is the same, and stands still. */
export interface Imports extends Harness {
  readonly storage: StorageHarness;
  /** Puts an object into the bucket `inbox`. */
  put(key: string, body: string | Buffer, contentType?: string): Promise<void>;
  /** Puts the integration `inbox` and waits until nothing is due. */
  putFlow(changes?: object): Promise<void>;
  /** Lets time pass, and waits until nothing is due. */
  pass(ms: number): Promise<void>;
  /** The entries of the page of flows. */
  flows(): Promise<readonly FlowEntry[]>;
  /** The e-mail addresses of profiles by the key `id`. */
  mailsOf(...ids: readonly string[]): Promise<string[]>;
}

/** An entry of the page of flows, as far as tests look at it. */
interface FlowEntry {
  readonly state: string;
  readonly problem?: string;
  readonly nextTime?: string;
  readonly last?: Readonly<Record<string, unknown>>;
}

/** Starts both; the domain `shop` has the type `person`, whose objects make profiles. They stop when the test ends. */
export const startImports = async (options: HarnessOptions = {}): Promise<Imports> => {
  const clock = options.clock ?? new FakeClock();
  const storage = await startStorage({ clock });
  // The tokens of tests name an account; those of a flow are in flow-process.test.ts.
  const buckets = bucketSource(storage.client, {
    mint: async (caller) => caller.service?.sourceAccount ?? caller.accountId,
  });
  await storage.client.createBucket({ bucket: "inbox" }, as(ownerAccount));
  const harness = await startHarness({ ...options, clock, buckets });
  const { client, app, pages } = harness;
  const imports: Imports = {
    ...harness,
    storage,
    put: async (key, body, contentType) => {
      const bytes = Buffer.from(body);
      const head = { bucket: "inbox", key, contentLength: BigInt(bytes.length), ...(contentType && { contentType }) };
      async function* messages() {
        yield await Promise.resolve(head);
        yield { body: bytes };
      }
      await storage.client.putObject(messages(), as(ownerAccount));
    },
    putFlow: async (changes) => {
      const flowDefinition = flowOf(changes);
      await client.putIntegration({ domainName: "shop", uri: "inbox", objectTypeName: "person", flowDefinition });
      await app.jobs.idle();
    },
    pass: async (ms) => {
      clock.advance(ms);
      await app.jobs.idle();
    },
    flows: async () => {
      const page = await pages["/flows"]?.(new URLSearchParams());
      return (page as { readonly entries: readonly FlowEntry[] } | undefined)?.entries ?? [];
    },
    mailsOf: async (...ids) => {
      const { items } = await client.searchProfiles({ domainName: "shop", keyName: "id", values: [...ids] });
      return items.map(({ emailAddress }) => emailAddress ?? "").toSorted();
    },
  };
  if (options.directory === undefined) await createShop(imports);
  return imports;
};

const createShop = async ({ client }: Imports): Promise<void> => {
  const deadLetterQueueUrl = "https://queues.example/000000000000/errors";
  await client.createDomain({ domainName: "shop", defaultExpirationDays: 30, deadLetterQueueUrl });
  await client.putProfileObjectType({
    domainName: "shop",
    objectTypeName: "person",
    description: "People",
    allowProfileCreation: true,
    fields: {
      id: { source: "_source.id" },
      mail: { source: "_source.mail", target: "_profile.EmailAddress", contentType: "EMAIL_ADDRESS" },
      name: { source: "_source.name", target: "_profile.LastName" },
    },
    keys: { id: { items: [{ fieldNames: ["id"], standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
  });
};
