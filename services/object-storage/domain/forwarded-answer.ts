import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { fault } from "../faults.ts";

/** The members of a function's answer that decide its status. */
interface ForwardedStatus {
  readonly statusCode?: number;
  readonly errorCode?: string;
  readonly errorMessage?: string;
}

/** The statuses that functions may answer with. */
const statuses = new Set([200, 206, 304, 400, 401, 403, 404, 405, 409, 411, 412, 416, 500, 503]);

/** Checks the status of a function's answer. Throws VALIDATION_ERROR, also for an error without one of an error. */
export const checkForwarded = ({ statusCode = 200, errorCode, errorMessage }: ForwardedStatus): void => {
  const isError = errorCode !== undefined || errorMessage !== undefined;
  if (!statuses.has(statusCode))
    throw fault(ErrorReason.VALIDATION_ERROR, { explanation: `The status ${statusCode} cannot be forwarded.` });
  if (isError && statusCode < 400)
    throw fault(ErrorReason.VALIDATION_ERROR, { explanation: "An error needs the status of an error." });
};

/** The document of an error that a function answers with; undefined: it answers with content. */
export const forwardedError = ({ errorCode, errorMessage }: ForwardedStatus): Uint8Array | undefined => {
  if (errorCode === undefined && errorMessage === undefined) return undefined;
  const members = `<Code>${escaped(errorCode ?? "")}</Code><Message>${escaped(errorMessage ?? "")}</Message>`;
  return Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n<Error>${members}</Error>`);
};

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

const escaped = (text: string): string =>
  text.replaceAll(/[&<>]/g, (character) => escapes[character] ?? "").replaceAll(/\p{Cc}/gu, " ");
