import type { DescMessage, Message } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import type { Reading } from "../values/reading.ts";
import type { Dialect, DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";

/** A document as it goes out. */
export interface Document {
  readonly contentType: string;
  readonly body: Buffer;
}

/** What the wording of a refusal needs beside the fault itself. */
export interface AnswerContext {
  readonly dialect: Dialect;
  readonly requestId: string;
  readonly hostId: string;
  /** The path that was asked for, escapes untouched. */
  readonly resource: string;
}

/** A refusal as it goes out. */
export interface FaultDocument extends Document {
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How the messages of one protocol are written. Every codec file exports these. */
export interface Codec {
  /** Sets the body members of a message. An empty body sets none. Throws MalformedBodyError. */
  readMembers(message: Message, desc: DescMessage, body: Buffer, reading: Reading): void;
  /** Reads a body that is one member alone; undefined when the body is empty. Throws MalformedBodyError. */
  readPayload(field: FieldContract, body: Buffer, reading: Reading): Message | undefined;
  /** Writes the body members of a message; undefined: the message has no body. */
  writeMembers(message: Message, desc: DescMessage, spelling: DialectSpelling): Document | undefined;
  /** Writes a body that is one member alone. */
  writePayload(field: FieldContract, value: Message, spelling: DialectSpelling): Document;
  /** Writes a refusal. */
  writeFault(fault: HttpFault, context: AnswerContext): FaultDocument;
  /** Headers with the request's id. */
  identityHeaders(context: AnswerContext): Readonly<Record<string, string>>;
}
