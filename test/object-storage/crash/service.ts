import { createHash } from "node:crypto";
import { join } from "node:path";

import type { Client } from "@connectrpc/connect";
import { createClient } from "@connectrpc/connect";

import { ErrorReasonSchema } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { accountsOf } from "../../../services/kit/accounts/accounts.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import { rootCaller } from "../../../services/kit/identity/caller.ts";
import { randomIds } from "../../../services/kit/ids/ids.ts";
import { parsePolicy } from "../../../services/kit/policy/document.ts";
import { startServer } from "../../../services/kit/server/server.ts";
import { openStore } from "../../../services/kit/store/store.ts";
import type { OpenObjectStorage } from "../../../services/object-storage/open.ts";
import { openObjectStorage } from "../../../services/object-storage/open.ts";
import { handlers } from "../../../services/object-storage/service.ts";
import type { FakeClock } from "../../support/fake-clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

/** The service on a directory, without anything of the test runner, for processes that are traced. */
export interface CrashService {
  /** Calls of Alice. */
  readonly client: Client<typeof ObjectStorageService>;
  readonly opened: OpenObjectStorage;
  readonly clock: FakeClock;
  readonly directory: string;
  stop(): Promise<void>;
}

const owner = "111111111111";
export const roleArn = `arn:aws:iam::${owner}:role/copies`;

const documentOf = (statement: object): string => JSON.stringify({ Version: "2012-10-17", Statement: [statement] });

/** Alice, with a role by which versions are copied. */
const accounts = accountsOf({
  accounts: [],
  users: [],
  roles: [
    {
      accountId: owner,
      name: "copies",
      arn: roleArn,
      trustPolicy: parsePolicy(
        documentOf({ Effect: "Allow", Principal: { Service: "s3.amazonaws.com" }, Action: "sts:AssumeRole" }),
        { principals: "required", accountMembers: [], bytesMax: 2_048 },
      ),
      policies: [documentOf({ Effect: "Allow", Action: "s3:*", Resource: "*" })],
    },
  ],
  organizations: new Map(),
  accessKeys: [],
});

/** Opens the service. Parts may be small; a restore takes a minute of the clock. */
export const openCrashService = async (directory: string, clock: FakeClock, sync: boolean): Promise<CrashService> => {
  const store = await openStore({ directory: join(directory, "leveldb"), sync });
  try {
    const opened = await openObjectStorage({
      store,
      directory,
      clock,
      ids: randomIds,
      log: silentLogger,
      minter: { mint: async () => "" },
      region: "us-east-1",
      emit: "amz",
      eventBusAddress: "http://127.0.0.1:1",
      accounts,
      limits: { partBytesMin: 1 },
    });
    const server = await startServer({
      name: "crash",
      listen: { host: "127.0.0.1", port: 0 },
      services: [{ service: ObjectStorageService, handlers, errors: ErrorReasonSchema, app: opened.app }],
      authenticate: async () => rootCaller(owner),
      log: silentLogger,
      clock,
    });
    const transport = createTransport({ address: server.url, engine: "connect" });
    return {
      client: createClient(ObjectStorageService, transport),
      opened,
      clock,
      directory,
      async stop() {
        await transport.close();
        await server.stop(1_000);
        await opened.stop();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
};

/** The content of a name: the same bytes for the same name and size. */
export const contentOf = (name: string, size: number): Buffer =>
  Buffer.alloc(size, createHash("sha512").update(name).digest());

/**
 * Everything that callers see, as lines: each version with its content's digest, its tags, lock and restore, each
 * listed object, and each open upload with its parts.
 */
export const snapshot = async ({ client }: CrashService): Promise<string[]> => {
  const lines: string[] = [];
  const { buckets } = await client.listBuckets({});
  for (const { name: bucket = "" } of buckets) {
    const { versions, deleteMarkers } = await client.listObjectVersions({ bucket });
    for (const marker of deleteMarkers) lines.push(`${bucket}/${marker.key} marker ${marker.isLatest}`);
    for (const { key = "", versionId = "", isLatest, size } of versions) {
      const version = versionId === "null" ? { bucket, key } : { bucket, key, versionId };
      const head = await client.headObject(version);
      const { tagSet } = await client.getObjectTagging(version);
      const facts = [
        `${size} bytes ${head.eTag}`,
        isLatest === true ? "latest" : "older",
        ...tagSet.map((tag) => `${tag.key}=${tag.value}`),
        head.objectLockMode,
        head.objectLockLegalHoldStatus,
        head.storageClass,
        head.restore,
        head.replicationStatus,
        await digestOf(client, version).catch(() => "unreadable"),
      ];
      lines.push(`${bucket}/${key} ${facts.filter((fact) => fact !== undefined && fact !== "").join(" ")}`);
    }
    const { contents } = await client.listObjectsV2({ bucket });
    lines.push(`${bucket} lists ${contents.map(({ key }) => key).join(" ")}`);
    const { uploads } = await client.listMultipartUploads({ bucket });
    for (const { key = "", uploadId = "" } of uploads) {
      const { parts } = await client.listParts({ bucket, key, uploadId });
      lines.push(`${bucket}/${key} is uploaded: ${parts.map((part) => `${part.partNumber} ${part.eTag}`).join(" ")}`);
    }
  }
  return lines;
};

const digestOf = async (client: CrashService["client"], version: object): Promise<string> => {
  const digest = createHash("sha256");
  for await (const { body } of client.getObject(version)) digest.update(body);
  return digest.digest("hex");
};
