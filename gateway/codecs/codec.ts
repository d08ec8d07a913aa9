import type { DescMessage, Message } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import type { Reading } from "../values/reading.ts";
import type { Dialect, DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";

/** The document of an answer. */
export interface Document {
  readonly contentType: string;
  readonly body: Buffer;
}

/** The ids and the resource that the answers of a request show. */
export interface AnswerContext {
  readonly dialect: Dialect;
  readonly requestId: string;
  readonly hostId: string;
  /** The path of the request, escapes untouched. */
  readonly resource: string;
  /** Whether refusals in XML are inside another element. */
  readonly hasWrappedErrors: boolean;
}

/** The document of a refusal. */
export interface FaultDocument extends Document {
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads and writes the messages of one protocol. Every codec file exports these. */
export interface Codec {
  /** Sets the body members of a message. An empty body sets none. Throws MALFORMED_BODY. */
  readMembers(message: Message, desc: DescMessage, body: Buffer, reading: Reading): void;
  /** Reads a body that is a payload member alone; undefined if the body is empty. Throws MALFORMED_BODY. */
  readPayload(field: FieldContract, body: Buffer, reading: Reading): Message | undefined;
  /** Writes the body members of a message; undefined if the message has no body. Some documents name the request. */
  writeMembers(message: Message, desc: DescMessage, spelling: DialectSpelling, requestId: string): Document | undefined;
  /** Writes a body that is a payload member alone. */
  writePayload(field: FieldContract, value: Message, spelling: DialectSpelling): Document;
  /** Writes a refusal. */
  writeFault(fault: HttpFault, context: AnswerContext): FaultDocument;
  /** Headers with the request's id. */
  identityHeaders(context: AnswerContext): Readonly<Record<string, string>>;
}
