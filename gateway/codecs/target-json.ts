import type { DescMessage, Message } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import { faultName } from "../faults/http-fault.ts";
import type { Document, AnswerContext, FaultDocument } from "./codec.ts";
import { writeJsonMembers } from "./json-writer.ts";
import { identityHeaders as identifyRestJson } from "./rest-json.ts";

export { readMembers, readPayload } from "./rest-json.ts";

/** Writes the body members of a message; a message without any is an empty object. */
export const writeMembers = (message: Message, desc: DescMessage, spelling: DialectSpelling): Document => ({
  contentType: spelling.dialect.targetContentType,
  body: Buffer.from(writeJsonMembers(message, desc, spelling)),
});

/** Writes the JSON document of a payload member. */
export const writePayload = (field: FieldContract, value: Message, spelling: DialectSpelling): Document =>
  writeMembers(value, field.desc.message!, spelling);

/** Writes a refusal, with its name in a header and in the body. */
export const writeFault = (fault: HttpFault, context: AnswerContext): FaultDocument => {
  const name = faultName(fault, context.dialect);
  const body = { __type: name, message: fault.message, ...Object.fromEntries(fault.members) };
  return {
    contentType: context.dialect.targetContentType,
    body: Buffer.from(JSON.stringify(body)),
    headers: { [context.dialect.errorTypeHeader]: name },
  };
};

/** Headers with the request's id. */
export const identityHeaders = (context: AnswerContext): Record<string, string> => identifyRestJson(context);
