import type { MatchingRequest } from "../../../../gen/quartet/customerprofile/v1/matching_pb.ts";
import { findMergingProblem } from "./auto-merging.ts";

/** Why settings of identity resolution are not valid, as a message for their author; undefined if they are. */
export const findMatchingProblem = ({ autoMerging, exportingConfig }: MatchingRequest): string | undefined => {
  if (exportingConfig?.s3Exporting !== undefined)
    return "results are not exported to buckets; leave ExportingConfig out and list them with GetMatches";
  return autoMerging && findMergingProblem(autoMerging);
};
