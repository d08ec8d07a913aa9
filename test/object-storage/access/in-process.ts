import type { Message, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { HeadObjectResponse } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { AuditLog } from "../../../services/kit/audit/audit-log.ts";
import { ServiceError } from "../../../services/kit/faults/service-error.ts";
import type { Caller } from "../../../services/kit/identity/caller.ts";
import { rootCaller, userCaller } from "../../../services/kit/identity/caller.ts";
import type { CallContext } from "../../../services/kit/server/handlers.ts";
import { guard } from "../../../services/object-storage/access/guard.ts";
import type { Application, OperationName } from "../../../services/object-storage/application.ts";
import { handlers } from "../../../services/object-storage/service.ts";
import { silentLogger } from "../../support/silent-logger.ts";
import { alice, bob } from "../harness.ts";

type Methods = (typeof ObjectStorageService)["method"];
type AnyHandler = (request: unknown, context: CallContext<Application>) => unknown;

/** A call of the service's own handler, with its guard and without a network. */
export interface InProcessCall {
  /** `answered`, or the reason of the refusal. */
  readonly outcome: string;
  readonly answer: unknown;
  /** Whether the guard let the call through. */
  readonly isAdmitted: boolean;
  /** The messages that were read of a streamed request. */
  readonly pulled: number;
}

/** Calls an operation as a caller; the content of an upload is the member `body`. */
const call = async <Name extends OperationName>(
  app: Application,
  name: Name,
  request: MessageInitShape<Methods[Name]["input"]>,
  caller: Caller,
  audit?: AuditLog,
): Promise<InProcessCall> => {
  const method = ObjectStorageService.method[name];
  const context: CallContext<Application> = {
    app,
    method,
    access: undefined,
    caller,
    requestId: "request",
    signal: new AbortController().signal,
    deadlineMs: undefined,
    requestHeader: new Headers(),
    responseHeader: new Headers(),
    responseTrailer: new Headers(),
    log: silentLogger,
    audit,
  };
  const message: Message = create(method.input, request as never);
  let pulled = 0;
  async function* streamed(): AsyncGenerator<Message> {
    pulled += 1;
    yield message;
    pulled += 1;
  }
  const handler = handlers[name] as AnyHandler;
  let outcome = "answered";
  let answer: unknown;
  try {
    answer = await handler(method.methodKind === "client_streaming" ? streamed() : message, context);
    if (method.methodKind === "server_streaming") {
      const answers = answer as AsyncIterable<Message>;
      for await (const each of answers) answer = each;
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    outcome = error.facts.reason;
  }
  return { outcome, answer, isAdmitted: context.access !== undefined, pulled };
};

/** How a call of an operation ends: `answered`, or the reason of the refusal. */
export const outcomeOf = async <Name extends OperationName>(
  app: Application,
  name: Name,
  request: MessageInitShape<Methods[Name]["input"]>,
  caller: Caller,
): Promise<string> => (await call(app, name, request, caller)).outcome;

/** The answer to a caller who may read the object without its content. */
export const headOf = async (
  app: Application,
  request: MessageInitShape<Methods["headObject"]["input"]>,
  caller: Caller,
): Promise<HeadObjectResponse> => (await call(app, "headObject", request, caller)).answer as HeadObjectResponse;

/** How a call of an operation ends, with what is recorded of its decisions of a kind: action, resource and reason. */
const outcomeWith =
  (kind: "allowed" | "refused") =>
  async <Name extends OperationName>(
    app: Application,
    name: Name,
    request: MessageInitShape<Methods[Name]["input"]>,
    caller: Caller,
  ): Promise<readonly [outcome: string, ...recorded: string[]]> => {
    const recorded: string[] = [];
    const audit: AuditLog = {
      record: ({ decision, action, resource, reason }) => {
        if (decision === kind) recorded.push(`${action} ${resource} ${reason}`);
      },
    };
    const { outcome } = await call(app, name, request, caller, audit);
    return [outcome, ...recorded];
  };

export const allowancesOf = outcomeWith("allowed");
export const refusalsOf = outcomeWith("refused");

/** The indexes of the objects of a batch that the guard refuses. */
export const refusedOf = async (
  app: Application,
  request: MessageInitShape<Methods["deleteObjects"]["input"]>,
  caller: Caller,
): Promise<readonly number[]> => {
  const method = ObjectStorageService.method.deleteObjects;
  const context = { app, method, caller, log: silentLogger, requestHeader: new Headers() };
  const message = create(method.input, request as never);
  const { refusedElements } = await guard(message, context as unknown as CallContext<Application>);
  return [...refusedElements];
};

/** `answered` if the guard lets a call through, which then does nothing; else the reason of the refusal. */
export const admissionOf = async <Name extends OperationName>(
  app: Application,
  name: Name,
  request: MessageInitShape<Methods[Name]["input"]>,
  caller: Caller,
): Promise<string> => {
  const method = ObjectStorageService.method[name];
  const context = { app, method, caller, log: silentLogger, requestHeader: new Headers() };
  try {
    await guard(create(method.input, request as never), context as unknown as CallContext<Application>);
    return "answered";
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.facts.reason;
  }
};

/** A policy document of these statements. */
export const policyOf = (...statements: readonly object[]): string =>
  JSON.stringify({ Version: "2012-10-17", Statement: statements });

/** A user of Alice's account with these statements in a policy; without any, without a policy. */
export const usersOfAlice = (...statements: readonly object[]): Caller =>
  userCaller(alice, "carol", statements.length === 0 ? [] : [policyOf(...statements)]);

/** A user of Bob's account, likewise. */
export const usersOfBob = (...statements: readonly object[]): Caller =>
  userCaller(bob, "dave", statements.length === 0 ? [] : [policyOf(...statements)]);

export const aliceRoot = rootCaller(alice);
export const bobRoot = rootCaller(bob);

/** A statement of the policy of `photos` that allows everybody something on its objects. */
export const anybodyWith = (members: object): object => ({
  Effect: "Allow",
  Principal: "*",
  Resource: "arn:aws:s3:::photos/*",
  ...members,
});
