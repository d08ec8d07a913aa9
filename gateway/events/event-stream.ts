import type { DescMessage, Message } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { fieldContract } from "../../services/kit/contract/contract.ts";
import type { Codec } from "../codecs/codec.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import { faultName } from "../faults/http-fault.ts";
import { getField } from "../values/scalars.ts";
import type { EventHeaders } from "./event-frame.ts";
import { eventFrame } from "./event-frame.ts";

/** The content type of an answer that is a stream of events. */
export const eventStreamType = "application/vnd.amazon.eventstream";

/** Characters of the message of an error in a stream. */
const messageCharactersMax = 1024;

const none = new Uint8Array(0);

/**
 * The event of one message of an answer, in frames. Its type is the wire name of the choice that is set. Its payload is
 * that choice's only member: bytes as they are, a message as its document; a choice without members has none.
 */
export const eventPieces = (
  event: FieldContract,
  message: Message,
  codec: Codec,
  spelling: DialectSpelling,
): readonly Uint8Array[] => {
  const union = getField(message, event.desc) as Message;
  const choice = chosenField(event.desc.message as DescMessage, union);
  const type = { ":message-type": "event", ":event-type": spelling.member(choice) };
  const value = getField(union, choice.desc) as Message;
  const [payload] = (choice.desc.message as DescMessage).fields;
  if (payload === undefined) return eventFrame(type, none);
  const content = getField(value, payload);
  if (payload.fieldKind !== "message")
    return eventFrame({ ...type, ":content-type": "application/octet-stream" }, (content as Uint8Array) ?? none);
  const document = codec.writePayload(fieldContract(payload), content as Message, spelling);
  return eventFrame({ ...type, ":content-type": "text/xml" }, document.body);
};

/** A refusal after the answer has begun. */
export const errorPieces = (fault: HttpFault, spelling: DialectSpelling): readonly Uint8Array[] => {
  const headers: EventHeaders = {
    ":message-type": "error",
    ":error-code": faultName(fault, spelling.dialect),
    ":error-message": fault.message.slice(0, messageCharactersMax),
  };
  return eventFrame(headers, none);
};

const chosenField = (desc: DescMessage, union: Message): FieldContract => {
  const [oneof] = desc.oneofs;
  const { case: name } = (union as unknown as Record<string, { readonly case?: string }>)[oneof?.localName ?? ""] ?? {};
  const chosen = oneof?.fields.find(({ localName }) => localName === name);
  if (chosen === undefined) throw new Error(`an event of ${desc.typeName} is none of its choices`);
  return fieldContract(chosen);
};
