import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { ServiceError } from "../../kit/faults/service-error.ts";
import { fault } from "../faults.ts";

/** A reason for which a query is refused or ends early. */
export type SelectReason = keyof typeof ErrorReason;

/** Characters of a caller's text that a message shows. */
const shownCharactersMax = 60;

/** The refusal of a query, or of an object in which it cannot search. */
export const refusal = (reason: SelectReason, explanation = ""): ServiceError =>
  fault(ErrorReason[reason], explanation === "" ? {} : { explanation });

/** A caller's text as a message shows it: its beginning. */
export const shown = (text: string): string =>
  text.length > shownCharactersMax ? `${text.slice(0, shownCharactersMax)}…` : text;
