import type { MatchRecord } from "../../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import type { ProfileState } from "../profile-state.ts";

/** How profiles are compared for being of the same customer. */
export interface MatchComparison<Values> {
  /** What of a profile is compared. */
  valuesOf(state: ProfileState): Values;
  /** The values of which two profiles must share one to be a match. Each is a text of its own, in parts. */
  keysOf(values: Values): readonly (readonly string[])[];
  /** How much speaks for two profiles being of the same customer, the more the higher; 0: they are no match. */
  strengthOf(a: Values, b: Values): number;
  /** What the record of a match says of the least strength that holds it together. */
  resultOf(strength: number): Partial<Pick<MatchRecord, "confidenceScore" | "ruleLevel">>;
}
