import { invalidRequest } from "../faults.ts";
import type { ChecksumAlgorithm, ChecksumType } from "./checksum-algorithm.ts";
import { defaultChecksumAlgorithm } from "./checksum-algorithm.ts";
import { canCombine } from "./crc-combination.ts";
import { readAlgorithm } from "./expected-checksums.ts";

/** How the object's checksum is computed from those of an upload's parts. */
export interface UploadChecksum {
  readonly algorithm: ChecksumAlgorithm;
  readonly type: ChecksumType;
  /** The caller named the algorithm. */
  readonly isRequested: boolean;
}

/** Whether an algorithm has composite checksums; CRC64NVME covers all bytes only. */
const canCompose = (algorithm: ChecksumAlgorithm): boolean => algorithm !== "CRC64NVME";

/**
 * Reads the checksum members of a request that starts an upload. Throws INVALID_REQUEST for an algorithm that does not
 * have the type.
 */
export const planUploadChecksum = (request: {
  readonly checksumAlgorithm?: string;
  readonly checksumType?: string;
}): UploadChecksum => {
  const named = readAlgorithm(request.checksumAlgorithm);
  const checksumType = request.checksumType?.toUpperCase();
  if (checksumType !== undefined && named === undefined)
    throw invalidRequest("The x-svc-checksum-type header can only be used with the x-svc-checksum-algorithm header.");
  const algorithm = named ?? defaultChecksumAlgorithm;
  const type = checksumType ?? (canCompose(algorithm) ? "COMPOSITE" : "FULL_OBJECT");
  if (type !== "COMPOSITE" && type !== "FULL_OBJECT")
    throw invalidRequest("Value for x-svc-checksum-type header is invalid.");
  if (type === "COMPOSITE" ? !canCompose(algorithm) : !canCombine(algorithm))
    throw invalidRequest(
      `The ${type} checksum type cannot be used with the ${algorithm.toLowerCase()} checksum algorithm.`,
    );
  return { algorithm, type, isRequested: named !== undefined };
};
