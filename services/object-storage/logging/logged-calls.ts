import type { DescMethod, Message } from "@bufbuild/protobuf";

import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { faultNaming, ServiceError } from "../../kit/faults/service-error.ts";
import type { Caller } from "../../kit/identity/caller.ts";
import { reportHeaders } from "../../kit/report/report-headers.ts";
import type { CallContext } from "../../kit/server/handlers.ts";
import type { CopyAccess } from "../access/access.ts";
import type { Application } from "../application.ts";
import { logOperation, sourceOperation } from "../domain/access-log-operation.ts";
import type { LoggedRequest, RequestFacts } from "../domain/access-log-line.ts";
import type { Bucket } from "../store/bucket.ts";
import { encodeSubject } from "./subject.ts";

type LoggedContext = CallContext<Application, Partial<CopyAccess>>;

/** The members of requests and answers that lines show. */
interface ShownMembers {
  readonly bucket?: string;
  readonly key?: string;
  readonly versionId?: string;
  readonly contentLength?: bigint;
  readonly contentRange?: string;
  readonly body?: Uint8Array;
}

type AnyHandler = (request: unknown, context: LoggedContext) => unknown;

/**
 * The handlers, of which those on buckets with an access log say what its lines show of the call. Where the gateway
 * reports requests it is told so with the answer; other calls are noted here when they end. Calls on buckets without a
 * log are passed on as they are.
 */
export const loggingCalls = <S extends { readonly methods: readonly DescMethod[] }, H extends object>(
  service: S,
  handlers: H,
): H => {
  const all = handlers as Readonly<Record<string, unknown>>;
  const wrapped = service.methods.flatMap((method) => {
    const handler = all[method.localName];
    return typeof handler === "function" ? [[method.localName, loggedHandler(method, handler as AnyHandler)]] : [];
  });
  return { ...handlers, ...Object.fromEntries(wrapped) };
};

const loggedHandler = (method: DescMethod, handle: AnyHandler): AnyHandler => {
  const logged = {
    unary: loggedAnswer,
    client_streaming: loggedUpload,
    server_streaming: loggedStream,
    bidi_streaming: loggedStream,
  }[method.methodKind];
  return (request, context) =>
    isLogged(context) && isOnBucket(method) ? logged(handle, request as never, context) : handle(request, context);
};

/** Asked for logged calls only, because the fields of all requests take a start 10 ms to decode. */
const isOnBucket = ({ input }: DescMethod): boolean => input.fields.some(({ localName }) => localName === "bucket");

const isLogged = ({ access }: LoggedContext): boolean =>
  access.bucket?.known.hasLogging === true || access.source?.bucket.known.hasLogging === true;

const loggedAnswer = async (handle: AnyHandler, request: ShownMembers, context: LoggedContext): Promise<unknown> => {
  const call = new LoggedCall(context, request);
  return call.ended(async () => {
    const answer = await (handle(request, context) as Promise<ShownMembers>);
    call.saw(answer, sizeOf(answer));
    return answer;
  });
};

/** An upload: its content is counted, because its length need not be announced. */
const loggedUpload = async (
  handle: AnyHandler,
  requests: AsyncIterable<ShownMembers>,
  context: LoggedContext,
): Promise<unknown> => {
  const call = new LoggedCall(context, {});
  let bytes = 0;
  async function* counted(): AsyncGenerator<ShownMembers> {
    let isFirst = true;
    for await (const request of requests) {
      if (isFirst) call.saw(request, undefined);
      isFirst = false;
      bytes += request.body?.byteLength ?? 0;
      yield request;
    }
  }
  return call.ended(async () => {
    const answer = await (handle(counted(), context) as Promise<ShownMembers>);
    call.saw(answer, bytes);
    return answer;
  });
};

async function* loggedStream(handle: AnyHandler, request: ShownMembers, context: LoggedContext): AsyncGenerator {
  const call = new LoggedCall(context, request);
  let isFirst = true;
  try {
    for await (const message of handle(request, context) as AsyncIterable<ShownMembers>) {
      if (isFirst) call.saw(message, sizeOf(message));
      isFirst = false;
      call.sent(message.body?.byteLength ?? 0);
      yield message;
    }
    call.note(undefined);
  } catch (thrown) {
    call.note(thrown);
    throw thrown;
  }
}

/** The size of the whole object that an answer shows: after the slash of a range, or its length. */
const sizeOf = ({ contentRange, contentLength }: ShownMembers): number | undefined => {
  const total = contentRange?.split("/")[1];
  if (total !== undefined) return Number(total);
  return contentLength === undefined ? undefined : Number(contentLength);
};

/** One call on a bucket with an access log. */
class LoggedCall {
  readonly #context: LoggedContext;
  readonly #startedMs: number;
  #shown: Pick<LoggedRequest, "key" | "versionId" | "sizeBytes">;
  #bytesSent = 0;

  constructor(context: LoggedContext, request: ShownMembers) {
    this.#context = context;
    this.#startedMs = context.app.clock.now();
    this.#shown = { key: request.key, versionId: request.versionId };
    this.#announce();
  }

  /** The first message of the request or the answer shows more. Has an effect as long as no answer was sent. */
  saw({ key, versionId }: ShownMembers, sizeBytes: number | undefined): void {
    this.#shown = {
      key: key ?? this.#shown.key,
      versionId: versionId ?? this.#shown.versionId,
      sizeBytes: sizeBytes ?? this.#shown.sizeBytes,
    };
    this.#announce();
  }

  sent(bytes: number): void {
    this.#bytesSent += bytes;
  }

  async ended<Answer>(run: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await run();
      this.note(undefined);
      return answer;
    } catch (thrown) {
      this.note(thrown);
      throw thrown;
    }
  }

  /** Notes the end of a call that the gateway does not report. */
  note(thrown: unknown): void {
    if (isReported(this.#context)) return;
    const facts = factsOf(this.#context, this.#startedMs, this.#bytesSent, thrown);
    for (const logged of this.#requests()) this.#context.app.accessLogs.note(logged, facts);
  }

  #announce(): void {
    if (isReported(this.#context))
      this.#context.responseHeader.set(reportHeaders.subject, encodeSubject(this.#requests()));
  }

  #requests(): LoggedRequest[] {
    const { access, method, app } = this.#context;
    const own = access.bucket?.known;
    const source = access.source;
    const requests: LoggedRequest[] = [];
    if (own?.hasLogging === true)
      requests.push({ ...about(this.#context, own), ...this.#shown, operation: operationOf(this.#context) });
    if (source?.bucket.known.hasLogging === true)
      requests.push({
        ...about({ app, caller: this.#context.caller }, source.bucket.known),
        operation: sourceOperation(method.name),
        key: source.key,
        versionId: source.versionId,
      });
    return requests;
  }
}

/** The call's refusal by the guard, which knows the bucket only. */
export const logRefusal = (
  context: CallContext<Application>,
  request: Message,
  bucket: Bucket,
  thrown: unknown,
): void => {
  const { key, versionId } = request as unknown as ShownMembers;
  const logged = { ...about(context, bucket), operation: operationOf(context), key, versionId };
  if (isReported(context)) context.responseHeader.set(reportHeaders.subject, encodeSubject([logged]));
  else context.app.accessLogs.note(logged, factsOf(context, context.app.clock.now(), 0, thrown));
};

/** The operation as the log names it; an upload by a form is not that of its method. */
const operationOf = ({ caller, method }: Pick<LoggedContext, "caller" | "method">): string =>
  caller.isForm === true ? "REST.POST.OBJECT" : logOperation(method.name);

const about = (
  { app, caller }: { readonly app: Application; readonly caller: Caller },
  { bucketId, name, accountId }: Bucket,
): Pick<LoggedRequest, "bucketId" | "bucket" | "owner" | "requester"> => ({
  bucketId,
  bucket: name,
  owner: app.canonicalUserId(accountId),
  requester: requesterOf(app, caller),
});

/** Who asks: the canonical id of an account, the ARN of a user or a session; undefined: nobody. */
const requesterOf = (app: Application, caller: Caller): string | undefined => {
  if (caller.isAnonymous) return undefined;
  return caller.isRoot ? (caller.canonicalUserId ?? app.canonicalUserId(caller.accountId)) : caller.principalArn;
};

/** Whether the gateway reports the request that the call is made for. */
const isReported = ({ requestHeader }: Pick<CallContext<unknown>, "requestHeader">): boolean =>
  requestHeader.has(reportHeaders.announced);

/** What is known of a call that came as an RPC. */
const factsOf = (
  { app, method, caller, requestId }: CallContext<Application>,
  startedMs: number,
  bytesSent: number,
  thrown: unknown,
): RequestFacts => {
  const naming = thrown instanceof ServiceError ? faultNaming(thrown.facts, Protocol.REST_XML) : undefined;
  const totalMs = BigInt(Math.max(0, app.clock.now() - startedMs));
  return {
    timeMs: BigInt(startedMs),
    requestId,
    hostId: "",
    remoteAddress: caller.sourceIp ?? "",
    method: "POST",
    target: `/${method.parent.typeName}/${method.name}`,
    protocol: "RPC",
    status: thrown === undefined ? 200 : (naming?.httpStatus ?? 500),
    errorCode: thrown === undefined ? "" : (naming?.publicName ?? "InternalError"),
    bytesSent: BigInt(bytesSent),
    totalMs,
    turnAroundMs: totalMs,
    host: "",
    referer: caller.referer ?? "",
    userAgent: caller.userAgent ?? "",
    signatureVersion: caller.signatureVersion ?? "",
    authType: caller.authType ?? "",
    cipherSuite: "",
    tlsVersion: "",
  };
};
