import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { FieldContract, MethodContract } from "../../services/kit/contract/contract.ts";
import type { DecodedBody } from "../signature/decode-body.ts";
import type { Reading } from "../values/reading.ts";
import { valueFromText } from "../values/reading.ts";
import { setField } from "../values/scalars.ts";

/** The body of a streamed request: what is sent after its first message. */
export interface StreamedBody {
  /**
   * The bytes as they arrive. The body is opened when the first of them are asked for. Throws what the body throws,
   * which ends the call, so that the service never stores a partial body as complete.
   */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** By the request's headers; undefined if they do not say. */
  readonly sizeBytes: number | undefined;
  /** Whether trailers may follow the bytes; otherwise there is no message after the pieces. */
  readonly hasTrailers: boolean;
  /** The message that carries a piece. */
  messageOf(piece: Uint8Array): Message;
  /** The message after the pieces: with the members of the trailers, if the body had any. */
  last(): Message | undefined;
}

/** The body of a streamed request, by what its head says of it. */
export const streamedBody = (
  method: MethodContract,
  openBody: () => DecodedBody,
  { sizeBytes, hasTrailers }: Pick<StreamedBody, "sizeBytes" | "hasTrailers">,
  reading: Reading,
): StreamedBody => {
  const { localName } = payloadOf(method).desc;
  let body: DecodedBody | undefined;
  return {
    pieces: { [Symbol.asyncIterator]: () => (body ??= openBody())[Symbol.asyncIterator]() },
    sizeBytes,
    hasTrailers,
    messageOf: (piece) => create(method.desc.input, { [localName]: piece }),
    // A body that was never opened is not wanted.
    last: () => (body && body.trailers.size > 0 ? trailerMessage(method, body.trailers, reading) : undefined),
  };
};

/** A body that was read: sets its bytes in the first message, and returns the messages after it. */
export const wholeBody = (
  method: MethodContract,
  message: Message,
  bytes: Uint8Array,
  trailers: ReadonlyMap<string, string>,
  reading: Reading,
): readonly Message[] => {
  const payload = payloadOf(method);
  if (bytes.length > 0) setField(message, payload.desc, bytes);
  return trailers.size > 0 ? [trailerMessage(method, trailers, reading)] : [];
};

const payloadOf = (method: MethodContract): FieldContract => {
  const { payload } = method.input;
  if (payload === undefined) throw new Error(`${method.desc.name} streams a request without a payload`);
  return payload;
};

const trailerMessage = (method: MethodContract, trailers: ReadonlyMap<string, string>, reading: Reading): Message => {
  const message = create(method.desc.input);
  for (const field of method.input.fields) {
    if (field.location.kind !== "header") continue;
    const text = trailers.get(reading.spelling.header(field.location.name));
    const value = text === undefined ? undefined : valueFromText(field, text, reading.spelling.member(field), reading);
    if (value !== undefined) setField(message, field.desc, value);
  }
  return message;
};
