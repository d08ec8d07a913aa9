import type { Operation } from "../application.ts";
import type { ContentStore } from "../content/content-store.ts";
import { openVersion } from "../content/version-lookup.ts";
import type { BlobRange } from "../domain/extent.ts";
import { sliceRanges } from "../domain/extent.ts";
import { checkReadable } from "../domain/restore.ts";
import { checkCustomerKey, checkDecryption, openContentKey } from "../encryption/content-encryption.ts";
import type { ContentKey } from "../encryption/content-key.ts";
import { readCustomerKey } from "../encryption/customer-key.ts";
import { limits } from "../limits.ts";
import { querySettings, spanOf } from "../select/scan-job.ts";
import type { ScanFigures, ScannedObject } from "../select/scanned-object.ts";
import type { ScanProgress } from "../select/worker/running-scan.ts";
import { rangesOf } from "../store/object.ts";

/**
 * Searches an object and returns what a query finds, while it is found. The events are records, progress if it is asked
 * for, a sign of life while nothing is found, and at the end the figures and the end. Checks, in order:
 *  1. the members of the query that need no object, see `querySettings`;
 *  2. the caller's key is valid, see `readCustomerKey`;
 *  3. the key exists and is no delete marker;
 *  4. the caller's key is the object's, see `checkCustomerKey`;
 *  5. it is in no archive class, or restored (INVALID_OBJECT_STATE);
 *  6. the caller may decrypt with the managed key, see `checkDecryption`, and it may be used;
 *  7. the range overlaps the object (INVALID_SCAN_RANGE);
 *  8. the query is well-formed, and the object as the request says, as far as it is read.
 */
export const selectObjectContent: Operation<"selectObjectContent"> = async function* (request, context) {
  const { app, access, signal } = context;
  const settings = querySettings(request);
  const customerKey = readCustomerKey(request);
  const { ranges, sizeBytes, encryption } = await app.store.read(async (reader) => {
    const { version } = (await openVersion(reader, context, { key: request.key })).found;
    checkCustomerKey(context, access.bucket, request.key, version.encryption, customerKey);
    checkReadable(version, app.clock.now());
    checkDecryption(context, access.bucket, version.encryption);
    const lengthBytes = Number(version.sizeBytes);
    const whole = await rangesOf(reader, version, { offsetBytes: 0, lengthBytes });
    return { ranges: whole, sizeBytes: lengthBytes, encryption: version.encryption };
  });
  const span = spanOf(request.scanRange, sizeBytes);
  const contentKey = await openContentKey(app, encryption, customerKey);

  const job = { ...settings, span, sizeBytes, nowMs: app.clock.now() };
  const object = scannedObject(app.content, ranges, sizeBytes, contentKey);
  const showsProgress = request.requestProgress?.enabled === true;
  const stop = new AbortController();
  const scan = app.scans.run(context.caller.accountId, job, object, AbortSignal.any([signal, stop.signal]));
  try {
    yield* eventsOf(scan, showsProgress);
  } finally {
    stop.abort();
  }
};

const scannedObject = (
  content: ContentStore,
  ranges: readonly BlobRange[],
  sizeBytes: number,
  contentKey: ContentKey,
): ScannedObject => ({
  sizeBytes,
  pieces: (from, to) => content.read(sliceRanges(ranges, { offsetBytes: from, lengthBytes: to - from }), contentKey),
});

type SelectMessage = { readonly event: { readonly event: SelectEventInit } };
type SelectEventInit =
  | { readonly case: "records"; readonly value: { readonly payload: Uint8Array } }
  | { readonly case: "progress" | "stats"; readonly value: { readonly details: FiguresInit } }
  | { readonly case: "cont" | "end"; readonly value: Record<string, never> };

type FiguresInit = Readonly<Record<"bytesScanned" | "bytesProcessed" | "bytesReturned", bigint>>;

/** The events of a scan. While it finds nothing, a sign of life is sent at the same interval. */
async function* eventsOf(scan: AsyncGenerator<ScanProgress>, showsProgress: boolean): AsyncGenerator<SelectMessage> {
  let progressMs: number | undefined;
  let asked: Promise<IteratorResult<ScanProgress>> | undefined;
  try {
    for (;;) {
      asked ??= scan.next();
      const next = await within(asked, limits.selectSignOfLifeMs);
      if (next === undefined) {
        yield message({ case: "cont", value: {} });
        continue;
      }
      asked = undefined;
      if (next.done === true) return;
      const { result, figures, isEnd } = next.value;
      if (result !== undefined) yield message({ case: "records", value: { payload: result } });
      progressMs ??= performance.now();
      const isDue = performance.now() - progressMs >= limits.selectProgressMs;
      if (showsProgress && (isDue || isEnd)) {
        progressMs = performance.now();
        yield message({ case: "progress", value: { details: figuresOf(figures) } });
      }
      if (!isEnd) continue;
      yield message({ case: "stats", value: { details: figuresOf(figures) } });
      yield message({ case: "end", value: {} });
    }
  } finally {
    // A scan that still runs is given up by its signal, and ends then.
    asked?.catch(() => {});
    void scan.return(undefined);
  }
}

const message = (event: SelectEventInit): SelectMessage => ({ event: { event } });

const figuresOf = ({ scannedBytes, processedBytes, returnedBytes }: ScanFigures): FiguresInit => ({
  bytesScanned: BigInt(scannedBytes),
  bytesProcessed: BigInt(processedBytes),
  bytesReturned: BigInt(returnedBytes),
});

/** The result, or undefined if it takes longer. */
const within = async <T>(result: Promise<T>, ms: number): Promise<T | undefined> => {
  const timeout = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => timeout.resolve(undefined), ms);
  try {
    return await Promise.race([result, timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
};
