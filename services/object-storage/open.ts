import { join } from "node:path";

import { createClient } from "@connectrpc/connect";

import { EventBusService } from "../../gen/quartet/eventbus/v1/event_bus_service_pb.ts";
import { createTransport } from "../kit/client/transport.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Accounts } from "../kit/accounts/accounts.ts";
import { derivedCanonicalUserId } from "../kit/identity/canonical-user-id.ts";
import type { Minter } from "../kit/identity/tokens.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs, jobTables } from "../kit/jobs/jobs.ts";
import type { Logger } from "../kit/log/log.ts";
import { callMetrics } from "../kit/metrics/call-metrics.ts";
import { measuredTransport } from "../kit/metrics/measured-transport.ts";
import type { Metrics } from "../kit/metrics/metrics.ts";
import { createPageTokens, pageTokenKey, pageTokenKeyTable } from "../kit/page-tokens/page-tokens.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import type { Store } from "../kit/store/store.ts";
import type { Application, Limits } from "./application.ts";
import { defaultLimits } from "./application.ts";
import { openFileBlobStore } from "./blobs/file-blob-store.ts";
import { BlobPins } from "./blobs/pins.ts";
import { ContentStore } from "./content/content-store.ts";
import type { SweepOptions } from "./work/blob-sweep.ts";
import { sweepBlobs } from "./work/blob-sweep.ts";
import type { EmitDialect } from "./domain/object-event.ts";
import { partitionOf } from "./domain/object-event.ts";
import { deliverEvent, deliveryPolicy } from "./events/event-delivery.ts";
import { createEventOutbox, objectEventJob } from "./events/event-outbox.ts";
import { keepHouse } from "./housekeeping.ts";
import { jobTablesBase, pageTokenTableNumber } from "./store/layout.ts";
import { openSequences } from "./store/sequence.ts";
import { forgetFinishedUploads } from "./store/upload.ts";

/** What the service is opened from. */
export interface ObjectStorageOptions {
  readonly store: Store;
  /** The service's own directory; blobs lie in `blobs` below it. */
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly minter: Minter;
  readonly region: string;
  readonly emit: EmitDialect;
  /** Where bucket notifications are sent. */
  readonly eventBusAddress: string;
  /** How the event bus is reached at an `https` address. */
  readonly tls?: ClientTls;
  readonly limits?: Partial<Limits>;
  /** Who is declared. Unset: nobody. */
  readonly accounts?: Pick<Accounts, "canonicalUserId">;
  /** Gets the metrics of the calls to the event bus. Unset: they are not counted. */
  readonly metrics?: Metrics;
}

/** The service without its server. */
export interface OpenObjectStorage {
  readonly app: Application;
  /** Its deliveries. */
  readonly jobs: Jobs;
  /** What its sweep works with, for sweeping out of turn. */
  readonly sweep: SweepOptions;
  /** Ends deliveries and sweeping. The store stays open. */
  stop(): Promise<void>;
}

/**
 * Content up to this size lies in the database. Durable puts a second with 32 writers on the development machine, in
 * the database : as a file: 4 KiB 7,310 : 2,959, 16 KiB 3,989 : 1,022, 64 KiB 1,375 : 788, 128 KiB 800 : 648, 256 KiB
 * 227 : 276. Half of where they meet, because the database also writes content again when it compacts.
 */
const inlineBytesMax = 64 * 1024;
const minuteMs = 60 * 1000;
const pageTokenLifetimeMs = 7 * 24 * 60 * minuteMs;
const choresIntervalMs = 10 * minuteMs;
/** How long completing an upload again answers the same. */
const finishedUploadLifetimeMs = 24 * 60 * minuteMs;
const graces = { doomedGraceMs: 10 * minuteMs, orphanGraceMs: 60 * minuteMs };

/** Opens the blobs, begins to deliver events and to sweep. */
export const openObjectStorage = async (options: ObjectStorageOptions): Promise<OpenObjectStorage> => {
  const { store, clock, ids, log, minter } = options;
  const blobs = await openFileBlobStore({ directory: join(options.directory, "blobs") });
  const pins = new BlobPins();
  const transport = createTransport({ address: options.eventBusAddress, engine: "connect", tls: options.tls });
  const { metrics } = options;
  const eventBus = createClient(
    EventBusService,
    metrics === undefined ? transport : measuredTransport(transport, callMetrics(metrics, "grpc_client")),
  );
  const jobs = createJobs({
    store,
    tables: jobTables(jobTablesBase),
    clock,
    ids,
    log,
    handlers: { [objectEventJob]: deliverEvent({ eventBus, minter, dialect: options.emit }) },
    policy: { [objectEventJob]: deliveryPolicy },
  });
  const key = await pageTokenKey(store, pageTokenKeyTable(pageTokenTableNumber));
  const sequences = await openSequences(store, clock);
  const sweep = { store, blobs, pins, clock, log, ...graces };
  jobs.start();
  const chores = {
    sweepBlobs: () => sweepBlobs(sweep),
    forgetFinishedUploads: () => forgetFinishedUploads(store, clock.now() - finishedUploadLifetimeMs),
  };
  const stopChores = keepHouse(chores, clock, log, choresIntervalMs);

  return {
    app: {
      store,
      clock,
      ids,
      content: new ContentStore({ blobs, pins, ids, inlineBytesMax }),
      events: createEventOutbox(jobs),
      sequences,
      pageTokens: createPageTokens({ key, clock, lifetimeMs: pageTokenLifetimeMs }),
      canonicalUserId: options.accounts?.canonicalUserId ?? derivedCanonicalUserId,
      region: options.region,
      partition: partitionOf(options.emit),
      limits: { ...defaultLimits, ...options.limits },
    },
    jobs,
    sweep,
    async stop() {
      await stopChores();
      await jobs.stop();
      await transport.close();
      await blobs.close();
    },
  };
};
