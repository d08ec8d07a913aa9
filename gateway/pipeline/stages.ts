/** The results of the stages: each stage is a function of the results before it, so no stage imports another. */
import type { Message } from "@bufbuild/protobuf";

import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import type { ApiBinding } from "../api-binding.ts";
import type { StreamedBody } from "../bindings/streamed-body.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { Payload } from "../signature/payload.ts";

/** Result of identify: which API a request is for, and in which dialect. */
export interface Identity {
  readonly binding: ApiBinding;
  readonly spelling: DialectSpelling;
  /** The path inside the API: an explicit prefix is cut off, a bucket in the host name is prepended. */
  readonly path: string;
}

/** Result of authenticate: who calls, and how to read the body that the signature covers. */
export interface AuthenticatedRequest {
  readonly caller: Caller;
  readonly payload: Payload;
  /** Lower case. */
  readonly signedHeaders: readonly string[];
  /** The whole body, where it had to be read to verify the signature. */
  readonly body: Buffer | undefined;
}

/** Result of bind: the RPC that a request stands for, and its request message. */
export interface BoundCall {
  readonly binding: ApiBinding;
  readonly method: MethodContract;
  /** The request; of a method that streams its request, the first message of the stream. */
  readonly message: Message;
  /** What follows the first message, of a method that streams its request; messages if its body was read already. */
  readonly more: StreamedBody | readonly Message[] | undefined;
}

/** Result of call: one message, or the first of a stream and the ones after it. */
export interface Answer {
  readonly message: Message;
  readonly more: AsyncIterator<Message> | undefined;
}
