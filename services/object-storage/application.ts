import type { MessageShape } from "@bufbuild/protobuf";

import type { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Accounts } from "../kit/accounts/accounts.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { KeyNames } from "../kit/keyring/key-names.ts";
import type { Pages } from "../kit/page-tokens/pages.ts";
import type { CallContext, Handler, Pending } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { BucketAccess, CopyAccess } from "./access/access.ts";
import type { ContentStore } from "./content/content-store.ts";
import type { AccessPoints } from "./access/access-points.ts";
import type { ObjectOwnership } from "./domain/ownership.ts";
import type { WrappingKeys } from "./encryption/wrapping-keys.ts";
import type { EventOutbox } from "./events/event-outbox.ts";
import type { Notifications } from "./events/notifications.ts";
import type { FunctionClient } from "./functions/function-client.ts";
import type { PendingAnswers } from "./functions/pending-answers.ts";
import type { Limits } from "./limits.ts";
import type { AccessLogs } from "./logging/access-logs.ts";
import type { OtherRegions } from "./regions/other-regions.ts";
import type { AccountBlocks } from "./store/account-blocks.ts";
import type { LockClock } from "./store/lock-clock.ts";
import type { ScanPool } from "./select/worker/scan-pool.ts";
import type { Sequences } from "./store/sequence.ts";
import type { Forks } from "./work/forks.ts";
import type { Restores } from "./work/restore-steps.ts";
import type { ExistingReplications } from "./work/existing-replication.ts";
import type { SearchIndexes } from "./work/search-index.ts";

/** The dependencies of this service's operations. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  /** The clock by which retentions end. */
  readonly lockClock: Pick<LockClock, "now">;
  readonly ids: Ids;
  readonly content: ContentStore;
  /** The keys that the data keys of blobs are sealed under. */
  readonly wrappingKeys: WrappingKeys;
  /** The managed keys. */
  readonly keyNames: KeyNames;
  readonly events: EventOutbox;
  /** Queues, topics and functions that buckets notify. */
  readonly notifications: Pick<Notifications, "reached" | "test">;
  readonly sequences: Sequences;
  readonly pages: Pages;
  /** The accounts: their organizations, their roles, and their addresses, by which grants may name them. */
  readonly accounts: Pick<
    Accounts,
    "canonicalUserId" | "findMfaDevice" | "findOrganizationId" | "findRole" | "knowsAllRoles" | "list"
  >;
  /** The declared access points. */
  readonly accessPoints: AccessPoints;
  /** The canonical id of an account. */
  readonly canonicalUserId: (accountId: string) => string;
  /** Whether ACLs may name accounts by e-mail address. */
  readonly acceptsEmailGrants: boolean;
  /** What accounts block in all their buckets. */
  readonly accountBlocks: AccountBlocks;
  /** False: every bucket blocks public access, whatever it says itself. */
  readonly allowsPublicBuckets: boolean;
  /** The ownership of buckets that are created without naming one. */
  readonly newBucketOwnership: ObjectOwnership;
  /** The region of this service's buckets. */
  readonly region: string;
  /** The partition of the ARNs in answers. */
  readonly partition: string;
  /** How long a day of lifecycle rules and restores lasts, in milliseconds. */
  readonly lifecycleDayMs: number;
  /** How long restoring an archived version takes, in milliseconds. */
  readonly restoreDelayMs: number;
  readonly restores: Restores;
  readonly searchIndexes: SearchIndexes;
  readonly existingReplications: ExistingReplications;
  readonly forks: Forks;
  /** Runs queries of objects. */
  readonly scans: Pick<ScanPool, "run">;
  /** The lines of the access logs of buckets. */
  readonly accessLogs: AccessLogs;
  /** Calls the functions of access points. */
  readonly functions: Pick<FunctionClient, "invoke">;
  /** The readers that wait for answers of functions. */
  readonly answers: PendingAnswers;
  /** How long a function may take until it begins its answer, in milliseconds. */
  readonly objectFunctionMs: number;
  /** Where buckets are that are not here. */
  readonly regions: Omit<OtherRegions, "close">;
  readonly limits: Limits;
}

type Methods = (typeof ObjectStorageService)["method"];

/** The name of an operation, as its handler spells it. */
export type OperationName = keyof Methods;

/** The access that the guard hands to an operation: to the existing buckets that its request names. */
type AccessOf<Name extends OperationName> = Name extends "createBucket"
  ? unknown
  : MessageShape<Methods[Name]["input"]> extends { readonly copySource: string }
    ? CopyAccess
    : MessageShape<Methods[Name]["input"]> extends { readonly bucket: string }
      ? BucketAccess
      : unknown;

/** The handler of one operation. */
export type Operation<Name extends OperationName> = Exclude<
  Handler<Methods[Name], Application, AccessOf<Name>>,
  Pending
>;

/** The context of an operation on a bucket. */
export type BucketContext = CallContext<Application, BucketAccess>;
