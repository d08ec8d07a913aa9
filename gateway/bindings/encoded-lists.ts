import type { DescField, DescMessage, DescMethodUnary } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";

import { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { MessageContract, MethodContract } from "../../services/kit/contract/contract.ts";
import { isInstant } from "../values/scalars.ts";

const methods = new WeakMap<DescMethodUnary, DescMethodUnary>();

/**
 * The method as its answers are read. Where they become XML, it is one whose answers have the messages of their lists
 * as bytes, which is the same on the wire: what a page of a listing shows is copied from them, and no messages are made
 * of its items. Only lists of the body are so, because all that is done with them is that they are written.
 */
export const answeredMethod = (contract: MethodContract, protocol: Protocol): DescMethodUnary => {
  const method = contract.desc as DescMethodUnary;
  if (protocol !== Protocol.REST_XML || contract.output.payload !== undefined) return method;
  let answered = methods.get(method);
  if (answered === undefined) {
    answered = { ...method, output: withEncodedLists(contract.output) };
    methods.set(method, answered);
  }
  return answered;
};

const withEncodedLists = ({ desc, bodyFields }: MessageContract): DescMessage => {
  const lists = new Map<DescField, DescField>();
  for (const { desc: field } of bodyFields)
    if (field.fieldKind === "list" && field.listKind === "message" && !field.delimitedEncoding && !isInstant(field))
      lists.set(field, encodedList(field));
  if (lists.size === 0) return desc;
  const fields = desc.fields.map((field) => lists.get(field) ?? field);
  const members = desc.members.map((member) => (member.kind === "field" ? (lists.get(member) ?? member) : member));
  return { ...desc, fields, members };
};

const encodedList = (field: DescField): DescField =>
  ({ ...field, listKind: "scalar", scalar: ScalarType.BYTES, message: undefined, packed: false }) as DescField;
