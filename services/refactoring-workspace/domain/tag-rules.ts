import { ErrorReason } from "../../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { Tags } from "../../kit/tags/tags.ts";
import { findReservedTagKey } from "../../kit/tags/tags.ts";
import { fault } from "../faults.ts";
import { limits } from "../limits.ts";

/** Throws TAG_KEY_RESERVED if a tag's key has a prefix that only the system may set. */
export const refuseReservedTagKeys = (tags: Tags): void => {
  const reserved = findReservedTagKey(Object.keys(tags));
  if (reserved !== undefined) throw fault(ErrorReason.TAG_KEY_RESERVED, { prefix: reserved.prefix });
};

/** Throws TOO_MANY_TAGS if these are more tags than a resource may have. */
export const refuseTooManyTags = (tags: Tags): void => {
  const count = Object.keys(tags).length;
  const countMax = limits.tagsPerResourceMax;
  if (count > countMax) throw fault(ErrorReason.TOO_MANY_TAGS, { count: String(count), limit: String(countMax) });
};
