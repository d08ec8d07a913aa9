import type { DescMessage } from "@bufbuild/protobuf";

import type { FieldContract } from "../../services/kit/contract/contract.ts";
import { isWrapper, messageContract, methodContract } from "../../services/kit/contract/contract.ts";
import type { Say } from "./compare-values.ts";
import {
  boundsOf,
  compareBounds,
  compareTexts,
  isFormat,
  isKind,
  kindOf,
  textBounds,
  withNeed,
} from "./compare-values.ts";
import type { ApiUnderTest, MemberFacts, Model, ValueFacts } from "./model.ts";

/**
 * Compares every declared operation with the public model and answers one line for each difference, sorted:
 * `Structure.Member: what the model says, what is declared`. Constraints are compared for requests only, because
 * answers are not checked; neither is a value that a service never answers a difference. Members that are younger than
 * the documents may be left out.
 */
export const differencesOf = ({ service, model }: ApiUnderTest): string[] => {
  const comparison: Comparison = { model, lines: new Set(), visited: new Set() };
  for (const method of service.methods) {
    const operation = model.operations[method.name];
    if (operation === undefined) continue;
    const { input, output } = methodContract(method);
    if (operation.input !== undefined) compareMessage(comparison, input.desc, operation.input, true);
    if (operation.output !== undefined) compareMessage(comparison, output.desc, operation.output, false);
  }
  return [...comparison.lines].toSorted();
};

interface Comparison {
  readonly model: Model;
  readonly lines: Set<string>;
  readonly visited: Set<string>;
}

const compareMessage = (comparison: Comparison, desc: DescMessage, shape: string, isInput: boolean): void => {
  const visit = `${isInput} ${desc.typeName} ${shape}`;
  if (comparison.visited.has(visit)) return;
  comparison.visited.add(visit);
  const members = comparison.model.shapes[shape] ?? {};
  const { fields, payload } = messageContract(desc);
  if (
    payload?.desc.message !== undefined &&
    fields.length === 1 &&
    !Object.values(members).some((each) => each.in === "payload")
  ) {
    compareMessage(comparison, payload.desc.message, shape, isInput);
    return;
  }
  const found = new Set<FieldContract>();
  for (const [name, facts] of Object.entries(members)) {
    const say = (text: string): unknown => comparison.lines.add(`${shape}.${name}: ${text}`);
    // Two members can share an element's name: the older holds one value where the younger holds a list.
    const candidates = fields.filter((each) => isThatMember(each, name, facts) && !found.has(each));
    const field =
      candidates.find(({ desc: { fieldKind } }) => (fieldKind === "list") === (facts.type === "list")) ?? candidates[0];
    if (field === undefined) {
      if (facts.later !== true) say("is not declared");
      continue;
    }
    found.add(field);
    const place = placeWords(facts.in, facts.named ?? name);
    const declared = describeDeclared(field);
    if (place !== declared) say(`stands in ${place}, declared in ${declared}`);
    compareMember(comparison, field, facts, isInput, say);
  }
  for (const field of fields)
    if (!found.has(field) && field.location.kind !== "rpcOnly" && field.location.kind !== "statusCode")
      comparison.lines.add(`${shape}.${field.publicName}: is declared and not in the model`);
};

const isThatMember = (field: FieldContract, name: string, facts: MemberFacts): boolean => {
  const named = facts.named ?? name;
  if (field.location.kind === "header") return facts.in === "header" && field.location.name === named.toLowerCase();
  if (field.location.kind === "query") return facts.in === "querystring" && field.location.name === named;
  if (facts.in === "headers") return field.location.kind === "prefixHeaders";
  if (facts.in === "statusCode") return field.location.kind === "statusCode";
  if (facts.in === "payload") return field.location.kind === "payload";
  return [field.publicName, field.wireName].some((each) => each === named || each === name);
};

const placeWords = (place: MemberFacts["in"], named: string): string => {
  if (place === undefined) return "the body";
  if (place === "header" || place === "headers") return `${place} ${named.toLowerCase()}`;
  return place === "querystring" ? `query ${named}` : place;
};

const describeDeclared = ({ location }: FieldContract): string => {
  if (location.kind === "header" || location.kind === "query") return `${location.kind} ${location.name}`;
  if (location.kind === "prefixHeaders") return `headers ${location.prefix}`;
  if (location.kind === "label") return "uri";
  return location.kind === "body" ? "the body" : location.kind;
};

const compareMember = (
  comparison: Comparison,
  declared: FieldContract,
  facts: MemberFacts,
  isInput: boolean,
  say: Say,
): void => {
  const wrapped = declared.desc.fieldKind === "message" ? wrappedOf(declared.desc.message) : undefined;
  const field = wrapped ?? declared;
  const { desc } = field;
  const { constraints } = declared;

  const kind = kindOf(desc);
  const isStructure = facts.type in comparison.model.shapes;
  const expected = isStructure ? "structure" : facts.type;
  if (!isKind(kind, expected)) {
    say(`is a ${facts.type}, declared as ${kind}`);
    return;
  }
  if (isInput && constraints.isRequired !== (facts.required ?? false))
    say(facts.required === true ? "is required, declared as optional" : "is optional, declared as required");
  if ((facts.sensitive ?? false) && !constraints.isSensitive) say("is sensitive, not declared so");
  if (isInput && constraints.isIdempotencyToken !== (facts.token ?? false))
    say(facts.token === true ? "is an idempotency token, not declared so" : "is declared as an idempotency token");
  if (facts.format !== undefined && !isFormat(field, facts)) say(`is written as ${facts.format}, not declared so`);
  if (facts.flattened === true && !field.xml.isFlattened && facts.in === undefined)
    say("is flattened, not declared so");
  if (facts.element !== undefined && facts.flattened !== true && (field.xml.memberName ?? "member") !== facts.element)
    say(`has elements named ${facts.element}, declared ${field.xml.memberName ?? "member"}`);

  if (isInput) compareBounds(withNeed(facts), boundsOf(field, declared), say);
  compareTexts(facts, desc.fieldKind === "enum" ? desc.enum : undefined, constraints, isInput, say);
  if (facts.of !== undefined) compareItems(comparison, field, facts, isInput, say);
  if (isStructure && desc.message !== undefined) compareMessage(comparison, desc.message, facts.type, isInput);
};

/** Compares the elements of a list, or the keys and the values of a map. */
const compareItems = (
  comparison: Comparison,
  field: FieldContract,
  facts: ValueFacts,
  isInput: boolean,
  say: Say,
): void => {
  const { desc, constraints } = field;
  const item = facts.of!;
  const sayOfItem: Say = (text) => say(`each ${text}`);
  const inner = desc.message === undefined ? undefined : wrappedOf(desc.message);
  if (inner !== undefined) {
    if (isInput) compareBounds(item, boundsOf(inner, inner), sayOfItem);
    if (item.of !== undefined) compareItems(comparison, inner, item, isInput, sayOfItem);
    return;
  }
  if (isInput) compareBounds(item, textBounds(constraints.element), sayOfItem);
  compareTexts(item, desc.enum, constraints.element, isInput, sayOfItem);
  if (facts.key !== undefined && isInput) {
    const sayOfKey: Say = (text) => say(`each key ${text}`);
    compareBounds(facts.key, textBounds(constraints.key), sayOfKey);
    compareTexts(facts.key, undefined, constraints.key, isInput, sayOfKey);
  }
  if (item.type in comparison.model.shapes && desc.message !== undefined)
    compareMessage(comparison, desc.message, item.type, isInput);
};

const wrappedOf = (message: DescMessage): FieldContract | undefined =>
  isWrapper(message) ? messageContract(message).wrapped : undefined;
