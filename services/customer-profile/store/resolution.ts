import type { ResolutionRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { changedProfiles, resolutions, ruleChanges } from "./layout-resolution.ts";
import type { ChangeTable } from "./match.ts";
import { removeFromMatches } from "./match.ts";

/** What a domain has enabled; undefined: nothing. An identifier is empty if its kind of matching is not enabled. */
export const findResolutions = (
  reader: Reader,
  domainId: Uint8Array,
): Promise<Readonly<ResolutionRecord> | undefined> => reader.getShared(resolutions, [domainId]);

/** The identity resolution of a domain by weekly jobs; undefined if it is not enabled. */
export const findResolution = async (
  reader: Reader,
  domainId: Uint8Array,
): Promise<Readonly<ResolutionRecord> | undefined> => {
  const record = await findResolutions(reader, domainId);
  return record === undefined || record.resolutionId.length === 0 ? undefined : record;
};

/** Stores what a domain has enabled. */
export const putResolutions = (
  transaction: Transaction,
  domainId: Uint8Array,
  record: Omit<ResolutionRecord, "$typeName" | "$unknown">,
): void => {
  if (record.resolutionId.length === 0 && record.rulesId.length === 0) transaction.delete(resolutions, [domainId]);
  else transaction.put(resolutions, [domainId], record);
};

/** Notes that a profile was created or has changed, so that it is compared with others. */
export const noteChange = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  for (const { id, changes } of enabledOf(await findResolutions(transaction, domainId)))
    transaction.put(changes, [id, profileId], {});
};

/** Removes all that identity resolution has of a profile that is removed. */
export const forgetProfile = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  for (const { id, changes } of enabledOf(await findResolutions(transaction, domainId))) {
    transaction.delete(changes, [id, profileId]);
    await removeFromMatches(transaction, id, profileId, changes);
  }
};

interface Enabled {
  readonly id: Uint8Array;
  readonly changes: ChangeTable;
}

const none: readonly Enabled[] = [];

const enabledOf = (record: ResolutionRecord | undefined): readonly Enabled[] => {
  if (record === undefined) return none;
  const { resolutionId, rulesId } = record;
  return [
    ...(resolutionId.length === 0 ? [] : [{ id: resolutionId, changes: changedProfiles }]),
    ...(rulesId.length === 0 ? [] : [{ id: rulesId, changes: ruleChanges }]),
  ];
};
