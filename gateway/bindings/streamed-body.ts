import type { Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { FieldContract, MethodContract } from "../../services/kit/contract/contract.ts";
import type { DecodedBody } from "../signature/decode-body.ts";
import type { Reading } from "../values/reading.ts";
import { valueFromText } from "../values/reading.ts";
import { setField } from "../values/scalars.ts";

/**
 * The messages of a streamed request after its first: one for each piece of the body as it arrives and, if the body has
 * trailers, a last one with their members. The body is opened when the first of them is asked for. Throws what the body
 * throws, which ends the call, so that the service never stores a partial body as complete.
 */
export async function* streamedBody(
  method: MethodContract,
  openBody: () => DecodedBody,
  reading: Reading,
): AsyncGenerator<Message> {
  const body = openBody();
  const { localName } = payloadOf(method).desc;
  for await (const piece of body) yield create(method.desc.input, { [localName]: piece });
  if (body.trailers.size > 0) yield trailerMessage(method, body.trailers, reading);
}

/**
 * The same for a body that was read: sets its bytes in the first message, so that they are sent with it, and returns
 * the messages after it.
 */
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
