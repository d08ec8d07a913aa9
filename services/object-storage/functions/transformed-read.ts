import type { MessageInitShape } from "@bufbuild/protobuf";

import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type {
  GetObjectRequest,
  WriteGetObjectResponseRequest,
} from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { GetObjectResponseSchema } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { readDescribedRequest } from "../../kit/identity/user-request.ts";
import type { AccessPoint } from "../access/access-points.ts";
import { accessPointArn } from "../access/access-points.ts";
import type { BucketContext } from "../application.ts";
import { forwardedError } from "../domain/forwarded-answer.ts";
import { fault, invalidRequest } from "../faults.ts";
import type { FunctionFailure } from "./function-client.ts";
import { functionEvent } from "./function-event.ts";
import type { PendingAnswer, WrittenAnswer } from "./pending-answers.ts";
import { resourceArn } from "../domain/resource-arn.ts";

type Answer = MessageInitShape<typeof GetObjectResponseSchema>;

/**
 * Has a function transform an object, and answers what it writes, piece by piece as the reader takes it. The function
 * gets a URL by which it reads the object in the caller's name, until the answer has ended. Repeating it calls the
 * function again. Fails, in this order:
 *  1. with INVALID_REQUEST for a call that did not come through the gateway, which alone knows its address;
 *  2. if the function cannot be called, is not there, fails, or ends without an answer (LAMBDA_…);
 *  3. with LAMBDA_TIMEOUT if it has not begun its answer within `objectFunctionSeconds`.
 */
export async function* transformObject(
  request: GetObjectRequest,
  context: BucketContext,
  point: AccessPoint,
): AsyncGenerator<Answer> {
  const { app, access, caller } = context;
  const userRequest = readDescribedRequest(context.requestHeader);
  if (userRequest === undefined) throw invalidRequest("Objects are transformed for requests over HTTP only.");
  const { key, versionId } = request;
  const pending = app.answers.open(point.accountId, { bucket: access.bucket.name, key, versionId, caller });
  const gone = new AbortController();
  const signal = AbortSignal.any([context.signal, gone.signal]);
  try {
    const query = versionId === undefined ? "" : `?versionId=${encodeURIComponent(versionId)}`;
    const event = functionEvent({
      requestId: context.requestId,
      inputUrl: `${userRequest.base}/${pending.inputName}/${encodeURIComponent(key).replaceAll("%2F", "/")}${query}`,
      route: pending.route,
      token: pending.token,
      accessPointArn: accessPointArn(point, app),
      supportingArn: resourceArn(app, access.bucket.name),
      payload: point.function?.payload ?? "",
      userRequest,
      caller,
    });
    const written = await awaitAnswer(context, point, event, pending, signal);
    yield* forward(written, signal);
  } finally {
    pending.end();
    gone.abort();
    // An answer that came when nobody waited any more has no reader.
    void pending.answer.then(({ finish }) => finish(interrupted()));
  }
}

/** Calls the function and waits until it writes. A function that ends after it has begun to write is not waited for. */
const awaitAnswer = async (
  { app }: Pick<BucketContext, "app">,
  point: AccessPoint,
  event: string,
  { answer }: PendingAnswer,
  signal: AbortSignal,
): Promise<WrittenAnswer> => {
  const { promise: late, resolve: beLate } = Promise.withResolvers<"late">();
  const cancel = app.clock.schedule(app.clock.now() + app.objectFunctionMs, () => beLate("late"));
  try {
    const ended = app.functions.invoke(point.function?.arn ?? "", event, signal).then(
      (failure) => failure ?? ("unanswered" as const),
      () => "unanswered" as const,
    );
    const first = await Promise.race([answer, ended, late]);
    if (typeof first === "object") return first;
    throw failures[first]();
  } finally {
    cancel();
  }
};

const failures: Readonly<Record<FunctionFailure | "unanswered" | "late", () => Error>> = {
  "not-found": () => fault(ErrorReason.LAMBDA_NOT_FOUND),
  "not-permitted": () => fault(ErrorReason.LAMBDA_PERMISSION_ERROR),
  "not-invoked": () => fault(ErrorReason.LAMBDA_INVOCATION_FAILED),
  failed: () => fault(ErrorReason.LAMBDA_RUNTIME_ERROR),
  unanswered: () => fault(ErrorReason.LAMBDA_RESPONSE_NOT_RECEIVED),
  late: () => fault(ErrorReason.LAMBDA_TIMEOUT),
};

/** The answer of a function as the reader sees it. The function learns when the reader has it or went away. */
async function* forward({ head, body, finish }: WrittenAnswer, signal: AbortSignal): AsyncGenerator<Answer> {
  let isDone = false;
  try {
    const members = forwardedMembers(head);
    const error = forwardedError(head);
    if (error !== undefined) {
      yield { ...members, contentType: "application/xml", contentLength: BigInt(error.length), body: error };
      isDone = true;
      return;
    }
    yield { ...members, contentLength: head.contentLength };
    let sentBytes = 0n;
    for await (const piece of body) {
      signal.throwIfAborted();
      sentBytes += BigInt(piece.byteLength);
      if (head.contentLength !== undefined && sentBytes > head.contentLength) throw interrupted();
      yield { body: piece };
    }
    if (head.contentLength !== undefined && sentBytes < head.contentLength) throw interrupted();
    isDone = true;
  } finally {
    finish(isDone ? undefined : interrupted());
  }
}

const interrupted = (): Error => fault(ErrorReason.RESPONSE_INTERRUPTED);

/** Members of the answer to a reader that a function does not set by a member of the same name. */
const ownMembers = new Set(["body", "contentLength"]);

/** What a function has written, as members of the answer: both messages have the same names. */
const forwardedMembers = (head: WriteGetObjectResponseRequest): Answer => {
  const written = head as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    GetObjectResponseSchema.fields
      .filter(({ localName }) => !ownMembers.has(localName) && written[localName] !== undefined)
      .map(({ localName }) => [localName, written[localName]]),
  );
};
