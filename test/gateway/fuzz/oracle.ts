import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import type { XmlElement } from "../../../gateway/codecs/xml-tree.ts";
import { parseXml } from "../../../gateway/codecs/xml-tree.ts";
import { gatewayFaults } from "../../../gateway/refusal.ts";
import { apiServices } from "../../../gateway/services.ts";
import { serviceApi } from "../../../services/kit/contract/contract.ts";
import { faultNaming, faultTable } from "../../../services/kit/faults/service-error.ts";
import type { Learned } from "./message-grammar.ts";
import type { Draft } from "./request-grammar.ts";
import type { Outcome, WireAnswer } from "./wire-client.ts";

/** Names with which the gateway itself refuses, over XML and over JSON. */
const gatewayNames = new Set(
  gatewayFaults
    .all()
    .flatMap((facts) =>
      [Protocol.REST_XML, Protocol.REST_JSON, Protocol.TARGET_JSON].map(
        (protocol) => faultNaming(facts, protocol).name,
      ),
    ),
);

const serviceNames = new Map(
  Object.values(apiServices).map(({ service, errors }) => {
    const names = faultTable(errors)
      .all()
      .flatMap((facts) => [facts.name, facts.publicName]);
    return [serviceApi(service).name, new Set(names)];
  }),
);

const requestIdHeaders = ["x-amz-request-id", "x-amzn-requestid", "x-svc-request-id"];

/** What is wrong with what came of a request; undefined: nothing. Values that a good answer tells are learned. */
export const judge = (draft: Draft, isWhole: boolean, outcome: Outcome, learned: Learned): string | undefined => {
  if (outcome.kind === "malformed") return `bytes that are no answer: ${outcome.bytes.slice(0, 300)}`;
  if (outcome.kind === "silent") return "no answer";
  if (outcome.kind === "closed") return isWhole ? "closed without an answer" : undefined;
  const { answer } = outcome;
  if (answer.status === 500) return `status 500: ${answer.body.toString("utf8", 0, 500)}`;
  if (!requestIdHeaders.some((name) => (answer.headers[name] ?? "") !== ""))
    return isBare(answer, isWhole) ? undefined : `no request id in an answer ${answer.status}`;
  try {
    return judgeBody(draft, answer, learned);
  } catch (error) {
    return `a body that does not parse (${String(error)}): ${answer.body.toString("utf8", 0, 500)}`;
  }
};

/** A request that is not even HTTP is answered by a status alone, and so is one that expects what nobody knows. */
const isBare = ({ status, body }: WireAnswer, isWhole: boolean): boolean =>
  body.length === 0 && (status === 417 || (!isWhole && [400, 408, 431].includes(status)));

const judgeBody = (draft: Draft, answer: WireAnswer, learned: Learned): string | undefined => {
  const { body, status, headers } = answer;
  const type = headers["content-type"] ?? "";
  const isRefusal = status >= 400;
  if (body.length === 0) return undefined;
  // A request that a mutation moved to another API is answered in its words.
  const protocolOf = type.includes("xml") ? "xml" : type.includes("json") ? "json" : "bytes";
  if (isRefusal && protocolOf === "bytes") return `a refusal of type ${type}`;
  if (protocolOf === "xml" && (isRefusal || draft.protocol === Protocol.REST_XML)) {
    // What a client stored as XML is no document of ours.
    if (!isRefusal && draft.operation === "GetObject") return undefined;
    const root = parseXml(body.toString("utf8"));
    if (isRefusal) return judgeRefusal(draft, root);
    learnXml(root, learned);
  } else if (protocolOf === "json" && draft.operation !== "GetObject") {
    const parsed = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
    if (isRefusal) return undeclared(draft, String(parsed["__type"]));
    learnJson("", parsed, learned);
  }
  return undefined;
};

/** Operations whose clients read it so have the refusal inside an `ErrorResponse`. */
const judgeRefusal = (draft: Draft, root: XmlElement): string | undefined => {
  const error = root.name === "ErrorResponse" ? root.children.find(({ name }) => name === "Error") : root;
  if (error?.name !== "Error") return `a refusal with root ${root.name}`;
  return undeclared(draft, error.children.find(({ name }) => name === "Code")?.text ?? "");
};

const undeclared = (draft: Draft, code: string): string | undefined => {
  const isDeclared = gatewayNames.has(code) || [...serviceNames.values()].some((names) => names.has(code));
  return isDeclared ? undefined : `the undeclared code "${code}" for ${draft.operation}`;
};

const learnXml = (element: XmlElement, learned: Learned): void => {
  if (element.children.length === 0 && element.text !== "") learned.learn(element.name, element.text);
  for (const child of element.children.slice(0, 20)) learnXml(child, learned);
};

const learnJson = (name: string, value: unknown, learned: Learned): void => {
  if (typeof value === "string" && value !== "") learned.learn(name, value);
  else if (Array.isArray(value)) for (const item of value.slice(0, 20)) learnJson(name, item, learned);
  else if (typeof value === "object" && value !== null)
    for (const [key, member] of Object.entries(value)) learnJson(key, member, learned);
};
