import type { DescMessage, Message } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";
import type { HttpFault } from "../faults/http-fault.ts";
import { faultName } from "../faults/http-fault.ts";
import type { Reading } from "../values/reading.ts";
import type { AnswerContext, Codec, Document, FaultDocument } from "./codec.ts";
import { parseQueryTree, readQueryMembers } from "./query-reader.ts";
import { identityHeaders } from "./rest-json.ts";
import { writeXmlElement, writeXmlText, xmlDeclaration } from "./xml-writer.ts";

const contentType = "text/xml";

/** The codec of one API of the query protocol, whose answers are XML in the API's namespace. */
export const queryCodec = (xmlNamespace: string): Codec => {
  const namespace = ` xmlns="${xmlNamespace}"`;

  /**
   * `<AssumeRoleResponse><AssumeRoleResult>…`, with the request's id last. The result is written without members, too:
   * of operations that are declared with an empty answer, as UpdateRole, SDKs look for it, and others skip it.
   */
  const writeMembers = (
    message: Message,
    desc: DescMessage,
    spelling: DialectSpelling,
    requestId: string,
  ): Document => {
    const operation = desc.name.replace(/Response$/, "");
    const result = writeXmlElement(`${operation}Result`, "", message, desc, spelling);
    const root = `${operation}Response`;
    const metadata = `<ResponseMetadata>${writeXmlText("RequestId", requestId)}</ResponseMetadata>`;
    return { contentType, body: Buffer.from(`${xmlDeclaration}<${root}${namespace}>${result}${metadata}</${root}>`) };
  };

  const writeFault = (fault: HttpFault, context: AnswerContext): FaultDocument => {
    const members = [
      writeXmlText("Type", fault.status >= 500 ? "Receiver" : "Sender"),
      writeXmlText("Code", faultName(fault, context.dialect)),
      writeXmlText("Message", fault.message),
    ].join("");
    const content = `<Error>${members}</Error>${writeXmlText("RequestId", context.requestId)}`;
    const body = Buffer.from(`${xmlDeclaration}<ErrorResponse${namespace}>${content}</ErrorResponse>`);
    return { contentType, body, headers: {} };
  };

  return { readMembers, readPayload, writeMembers, writePayload, writeFault, identityHeaders };
};

const readMembers = (message: Message, desc: DescMessage, body: Buffer, reading: Reading): void =>
  readQueryMembers(message, desc, parseQueryTree(body.toString("latin1")), reading);

/** A member cannot be a whole body. */
const noPayload = (field: FieldContract): never => {
  throw new Error(`${field.desc.name} cannot be the body of a request or an answer of the query protocol`);
};

const readPayload = (field: FieldContract): Message | undefined => noPayload(field);

const writePayload = (field: FieldContract): Document => noPayload(field);
