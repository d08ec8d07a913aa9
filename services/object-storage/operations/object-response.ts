import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { WriteGetObjectResponseRequest } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { openUpload } from "../../kit/server/upload.ts";
import type { Operation } from "../application.ts";
import { checkForwarded } from "../domain/forwarded-answer.ts";
import { fault } from "../faults.ts";

/**
 * Answers a reader for whom a function was called, and returns when the reader has all of it. Not to be repeated: a
 * token is good for one answer. Checks, in order:
 *  1. the status is one that can be forwarded (VALIDATION_ERROR);
 *  2. the route and the token are those of a reader that waits for the caller's account (VALIDATION_ERROR);
 *  3. the reader takes the whole answer (RESPONSE_INTERRUPTED).
 */
export const writeGetObjectResponse: Operation<"writeGetObjectResponse"> = async (
  requests,
  { app, caller, signal },
) => {
  const { head, body } = await openUpload<WriteGetObjectResponseRequest>(requests, "body");
  checkForwarded(head);
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const finish = (thrown?: Error): void => (thrown === undefined ? resolve(undefined) : reject(thrown));
  const isTaken = app.answers.hand(head.requestRoute, head.requestToken, caller.accountId, { head, body, finish });
  if (!isTaken) throw fault(ErrorReason.VALIDATION_ERROR, { explanation: "The request token is not valid any more." });
  const giveUp = (): void => reject(fault(ErrorReason.RESPONSE_INTERRUPTED));
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    await promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
  }
  return {};
};
