import { Code } from "@connectrpc/connect";

import type {
  ExportRecordsRequest,
  ExportRecordsResponseSchema,
} from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import { BackupService } from "../../../gen/quartet/kit/backup/v1/backup_service_pb.ts";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { recordDecision } from "../access/decision-recorder.ts";
import type { Clock } from "../clock/clock.ts";
import type { IssuerRights } from "../identity/authenticate.ts";
import type { CallContext, Handlers } from "../server/handlers.ts";
import type { OfferedService } from "../server/route.ts";
import { bytesOf } from "../store/byte-string.ts";
import type { Store } from "../store/store.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import { backupIssuer } from "./backup-issuer.ts";
import { encodeEntry, recordFileEnd, recordFileStart } from "./record-file.ts";

/** The rights of backups: nothing but the export. */
export const backupRights: IssuerRights = { [backupIssuer]: { preauthorizedFor: ["ExportRecords"] } };

/** What is exported. */
export interface ExportedStore {
  readonly store: Pick<Store, "dump">;
  readonly clock: Clock;
  /** Keeps content that records refer to, until the returned function is called. Unset: there is no content. */
  readonly holdContent?: (() => () => void) | undefined;
}

type Answer = MessageInitShape<typeof ExportRecordsResponseSchema>;

/** Offers the export of a process's store on its own server. */
export const backupService = (exported: ExportedStore): OfferedService => ({
  service: BackupService,
  handlers,
  app: exported,
});

const chunkBytesMax = 256 * 1024;
const heartbeatMs = 1_000;

/**
 * Sends all records, and then one empty message a second. Content is held from before the records are read until the
 * call ends, however it ends. Refuses everybody but backups: PERMISSION_DENIED.
 */
async function* exportRecords(
  _request: ExportRecordsRequest,
  context: CallContext<ExportedStore>,
): AsyncGenerator<Answer> {
  const { app, caller, signal } = context;
  const isAllowed = caller.isPreauthorized === true;
  recordDecision(context, { action: "quartet:ExportRecords", resource: "*", isAllowed, reason: "backups-only" });
  if (!isAllowed) throw new ProtocolError(Code.PermissionDenied, "Only the backup of the installation may do this.");
  const release = app.holdContent?.();
  try {
    const damagedKeys: Uint8Array[] = [];
    yield* inChunks(encodeRecords(app.store, damagedKeys));
    yield { isComplete: true, damagedKeys };
    while (!signal.aborted) {
      await silence(app.clock, signal);
      yield { isComplete: true };
    }
  } finally {
    release?.();
  }
}

const handlers: Handlers<typeof BackupService, ExportedStore> = { exportRecords };

async function* encodeRecords(store: Pick<Store, "dump">, damagedKeys: Uint8Array[]): AsyncGenerator<Buffer> {
  let count = 0;
  yield recordFileStart();
  for await (const page of store.dump())
    for (const record of page) {
      if (record.payload === undefined) damagedKeys.push(new Uint8Array(bytesOf(record.key)));
      else {
        count += 1;
        yield encodeEntry(record);
      }
    }
  yield recordFileEnd(count);
}

/** The same bytes in messages of one size, but for the last. */
async function* inChunks(pieces: AsyncIterable<Buffer>): AsyncGenerator<Answer> {
  let gathered: Buffer[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    gathered.push(piece);
    bytes += piece.byteLength;
    if (bytes < chunkBytesMax) continue;
    const joined = Buffer.concat(gathered);
    let sent = 0;
    for (; joined.byteLength - sent >= chunkBytesMax; sent += chunkBytesMax)
      yield { chunk: joined.subarray(sent, sent + chunkBytesMax) };
    gathered = [joined.subarray(sent)];
    bytes = joined.byteLength - sent;
  }
  yield { chunk: Buffer.concat(gathered) };
}

/** Resolves after a second, or when the call ends. */
const silence = (clock: Clock, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      cancel();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.schedule(clock.now() + heartbeatMs, done);
    signal.addEventListener("abort", done);
  });
