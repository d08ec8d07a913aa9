import type { Reader } from "../../kit/store/store.ts";
import { abortOf, describeExpiry, expiryOf } from "../domain/lifecycle-action.ts";
import { instant } from "../domain/instant.ts";
import type { Bucket } from "../store/bucket.ts";
import { findLifecycle } from "../store/lifecycle.ts";

/** The part of a call's context that lifecycle rules are read with. */
export interface LifecycleContext {
  /** How long a day of the rules lasts, in milliseconds. */
  readonly app: { readonly lifecycleDayMs: number };
}

/** What decides when a current version ends. */
interface Expiring {
  readonly lastModifiedMs: bigint | number;
  readonly sizeBytes: bigint | number;
  readonly tags?: readonly { readonly key: string; readonly value: string }[] | undefined;
}

/** The member that announces when the current version of a key ends by a rule; none if no rule ends it. */
export const announceExpiry = async (
  reader: Reader,
  { app }: LifecycleContext,
  bucket: Bucket,
  key: string,
  { lastModifiedMs, sizeBytes, tags = [] }: Expiring,
): Promise<{ readonly expiration?: string }> => {
  const rules = await findLifecycle(reader, bucket, app.lifecycleDayMs);
  const facts = { key, lastModifiedMs: Number(lastModifiedMs), sizeBytes: Number(sizeBytes), tags };
  const expiry = rules && expiryOf(rules, facts);
  return expiry === undefined ? {} : { expiration: describeExpiry(expiry) };
};

/** The members that announce when an upload is aborted by a rule; none if no rule aborts it. */
export const announceAbort = async (
  reader: Reader,
  { app }: LifecycleContext,
  bucket: Bucket,
  key: string,
  initiatedMs: number,
) => {
  const rules = await findLifecycle(reader, bucket, app.lifecycleDayMs);
  const abort = rules && abortOf(rules, key, initiatedMs);
  return abort === undefined ? {} : { abortDate: instant(abort.atMs), abortRuleId: abort.ruleId };
};
