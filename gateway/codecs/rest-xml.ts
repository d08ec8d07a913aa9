import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import type { Reading } from "../values/reading.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import { faultName } from "../faults/http-fault.ts";
import type { Document, AnswerContext, FaultDocument } from "./codec.ts";
import { malformedBody } from "../refusal.ts";
import { readXmlMembers } from "./xml-reader.ts";
import { parseXml } from "./xml-tree.ts";
import { writeXmlRoot, writeXmlText, xmlDeclaration } from "./xml-writer.ts";

const contentType = "application/xml";

/** Sets the body members of a message from an XML document; its root may have any name. */
export const readMembers = (message: Message, desc: DescMessage, body: Buffer, reading: Reading): void => {
  if (body.length > 0) readXmlMembers(message, desc, parseXml(body.toString("utf8")), reading);
};

/** Reads the XML document of a payload member; its root must be named like the member or its message. */
export const readPayload = (field: FieldContract, body: Buffer, reading: Reading): Message | undefined => {
  if (body.length === 0) return undefined;
  const desc = field.desc.message!;
  const root = parseXml(body.toString("utf8"));
  const names = [field.wireName, field.publicName, messageContract(desc).xmlRoot, desc.name];
  if (!names.includes(root.name))
    throw malformedBody(`The XML you provided has the root ${root.name}, but ${names[0]} is expected.`);
  const message = create(desc);
  readXmlMembers(message, desc, root, reading);
  return message;
};

/** Writes the body members of a message; undefined if it has none. */
export const writeMembers = (message: Message, desc: DescMessage, spelling: DialectSpelling): Document | undefined => {
  const contract = messageContract(desc);
  if (contract.bodyFields.length === 0) return undefined;
  const root = contract.xmlRoot ?? desc.name.replace(/Response$/, "");
  return { contentType, body: writeXmlRoot(root, message, desc, spelling) };
};

/** Writes the XML document of a payload member. */
export const writePayload = (field: FieldContract, value: Message, spelling: DialectSpelling): Document => {
  const desc = field.desc.message!;
  const root = messageContract(desc).xmlRoot ?? field.wireName;
  return { contentType, body: writeXmlRoot(root, value, desc, spelling) };
};

/** Writes a refusal as an error document, which has no namespace. */
export const writeFault = (fault: HttpFault, context: AnswerContext): FaultDocument => {
  const refusal = elements([
    ["Code", faultName(fault, context.dialect)],
    ["Message", fault.message],
    ...fault.members,
    ["Resource", context.resource],
  ]);
  const ids = elements([
    ["RequestId", context.requestId],
    ["HostId", context.hostId],
  ]);
  const document = context.hasWrappedErrors
    ? `<ErrorResponse><Error>${refusal}</Error>${ids}</ErrorResponse>`
    : `<Error>${refusal}${ids}</Error>`;
  return { contentType, body: Buffer.from(xmlDeclaration + document), headers: {} };
};

const elements = (members: readonly (readonly [string, string])[]): string =>
  members.map(([name, value]) => writeXmlText(name, value)).join("");

/** Headers with the request's id and the answering host's. */
export const identityHeaders = (context: AnswerContext): Record<string, string> => ({
  [context.dialect.xmlRequestIdHeader]: context.requestId,
  [context.dialect.hostIdHeader]: context.hostId,
});
