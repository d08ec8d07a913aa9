import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import type { Reading } from "../values/reading.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import { faultName } from "../faults/http-fault.ts";
import type { Document, AnswerContext, FaultDocument } from "./codec.ts";
import { parseJson, readJsonMembers } from "./json-reader.ts";
import { writeJsonMembers } from "./json-writer.ts";

const contentType = "application/json";

/** Sets the body members of a message from a JSON object. */
export const readMembers = (message: Message, desc: DescMessage, body: Buffer, reading: Reading): void => {
  if (body.length > 0) readJsonMembers(message, desc, parseJson(body, desc), reading);
};

/** Reads the JSON document of a payload member; undefined if the body is empty. */
export const readPayload = (field: FieldContract, body: Buffer, reading: Reading): Message | undefined => {
  if (body.length === 0) return undefined;
  const desc = field.desc.message!;
  const message = create(desc);
  readMembers(message, desc, body, reading);
  return message;
};

/** Writes the body members of a message; a message without any is an empty object. */
export const writeMembers = (message: Message, desc: DescMessage, spelling: DialectSpelling): Document => ({
  contentType,
  body: Buffer.from(writeJsonMembers(message, desc, spelling)),
});

/** Writes the JSON document of a payload member. */
export const writePayload = (field: FieldContract, value: Message, spelling: DialectSpelling): Document =>
  writeMembers(value, field.desc.message!, spelling);

/** Writes a refusal, with its name in a header and in the body, and its message in both spellings that clients read. */
export const writeFault = (fault: HttpFault, context: AnswerContext): FaultDocument => {
  const name = faultName(fault, context.dialect);
  const members = Object.fromEntries(fault.members);
  const body = { __type: name, message: fault.message, Message: fault.message, ...members };
  return {
    contentType,
    body: Buffer.from(JSON.stringify(body)),
    headers: { [context.dialect.errorTypeHeader]: name },
  };
};

/** Headers with the request's id. */
export const identityHeaders = (context: AnswerContext): Record<string, string> => ({
  [context.dialect.requestIdHeader]: context.requestId,
});
