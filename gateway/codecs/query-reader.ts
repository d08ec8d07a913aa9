import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { messageContract } from "../../services/kit/contract/contract.ts";
import { parseQuery } from "../http/query.ts";
import { malformedBody } from "../refusal.ts";
import type { Reading } from "../values/reading.ts";
import { valueFromText } from "../values/reading.ts";
import { isInstant, setField } from "../values/scalars.ts";

/** Parameters by the parts of their names: `Tags.member.1.Key` is in `Tags`, `member`, `1`, `Key`. */
export interface QueryNode {
  /** The value of the parameter with this name; the first one if there are several. */
  value: string | undefined;
  readonly children: Map<string, QueryNode>;
}

const parametersMax = 1_000;
const depthMax = 8;

/** Parses `a=1&b.member.1=2`, percent-encoded. Throws MALFORMED_URI and MALFORMED_BODY. */
export const parseQueryTree = (text: string): QueryNode => {
  // Each has at least a name's or a value's character, so too many are refused before any is decoded.
  let parameters = 0;
  for (const _each of text.matchAll(/[^&]+/g))
    if (++parameters > parametersMax) throw malformedBody(`There are more than ${parametersMax} parameters.`);
  const { all } = parseQuery(text);
  const root = emptyNode();
  for (const { name, value } of all) {
    const parts = name.split(".", depthMax + 1);
    if (parts.length > depthMax) throw malformedBody(`A parameter's name has more than ${depthMax} parts.`);
    let node = root;
    for (const part of parts) {
      const next = node.children.get(part) ?? emptyNode();
      node.children.set(part, next);
      node = next;
    }
    node.value ??= value;
  }
  return root;
};

/** Sets the members of a message from the parameters; unknown parameters are ignored. */
export const readQueryMembers = (message: Message, desc: DescMessage, node: QueryNode, reading: Reading): void =>
  readMembers(message, desc, node, "", reading);

const emptyNode = (): QueryNode => ({ value: undefined, children: new Map() });

const readMembers = (message: Message, desc: DescMessage, node: QueryNode, path: string, reading: Reading): void => {
  const contract = messageContract(desc);
  for (const [name, child] of node.children) {
    const field = contract.findMember(name);
    if (field === undefined) continue;
    const spelled = reading.spelling.member(field);
    const value = readValue(field, child, path === "" ? spelled : `${path}.${spelled}`, reading);
    if (value !== undefined) setField(message, field.desc, value);
  }
};

const readValue = (field: FieldContract, node: QueryNode, path: string, reading: Reading): unknown => {
  const { desc } = field;
  if (desc.fieldKind === "list")
    return elementsOf(node).flatMap((element, index) => {
      const value = readOne(field, desc.message, element, `${path}[${index}]`, reading);
      return value === undefined ? [] : [value];
    });
  if (desc.fieldKind === "map") throw new Error(`${desc.name} is a map, which the query protocol does not carry`);
  return readOne(field, desc.message, node, path, reading);
};

const readOne = (
  field: FieldContract,
  desc: DescMessage | undefined,
  node: QueryNode,
  path: string,
  reading: Reading,
): unknown => {
  if (desc === undefined || isInstant(field.desc))
    return node.value === undefined ? undefined : valueFromText(field, node.value, path, reading);
  const message = create(desc);
  readMembers(message, desc, node, path, reading);
  return message;
};

/** The elements of a list in the order of their numbers: `member.1`, `member.2`. */
const elementsOf = (node: QueryNode): QueryNode[] => {
  const members = node.children.get("member")?.children ?? node.children;
  return [...members]
    .filter(([number]) => /^\d{1,9}$/.test(number))
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .map(([, element]) => element);
};
