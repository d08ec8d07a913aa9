import type { ResolutionRecord } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { Reader, Transaction } from "../../kit/store/transaction.ts";
import { changedProfiles, resolutions } from "./layout-resolution.ts";
import { removeFromMatches } from "./match.ts";

/** The identity resolution of a domain; undefined if it is not enabled. */
export const findResolution = (reader: Reader, domainId: Uint8Array): Promise<Readonly<ResolutionRecord> | undefined> =>
  reader.getShared(resolutions, [domainId]);

/** Notes that a profile was created or has changed, so that the next job compares it with others. */
export const noteChange = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  const resolution = await findResolution(transaction, domainId);
  if (resolution !== undefined) transaction.put(changedProfiles, [resolution.resolutionId, profileId], {});
};

/** Removes all that identity resolution has of a profile that is removed. */
export const forgetProfile = async (
  transaction: Transaction,
  domainId: Uint8Array,
  profileId: Uint8Array,
): Promise<void> => {
  const resolution = await findResolution(transaction, domainId);
  if (resolution === undefined) return;
  transaction.delete(changedProfiles, [resolution.resolutionId, profileId]);
  await removeFromMatches(transaction, resolution.resolutionId, profileId);
};
