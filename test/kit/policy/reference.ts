import type { PolicyRequest } from "../../../services/kit/policy/compiled.ts";

/** A policy document as JSON.parse returns it; every list is a list. */
export interface Document {
  readonly Version: string;
  readonly Statement: readonly Rule[];
}

export interface Rule {
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: "*" | Readonly<Record<string, readonly string[]>>;
  readonly NotPrincipal?: Readonly<Record<string, readonly string[]>>;
  readonly Action?: readonly string[];
  readonly NotAction?: readonly string[];
  readonly Resource?: readonly string[];
  readonly NotResource?: readonly string[];
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
}

export interface Documents {
  readonly identity: readonly Document[];
  readonly resource: readonly Document[];
  /** Undefined: the requester has no permissions boundary. */
  readonly boundary: readonly Document[] | undefined;
  /** Undefined: the requester is not a narrowed session. */
  readonly session: readonly Document[] | undefined;
  readonly isGrantedByOwner: boolean;
}

/**
 * Decides a request slowly and plainly, from what is documented: nothing is kept, nothing is read ahead, and it shares
 * no code with the evaluator. Both dialects are one: texts are rewritten to the public one first.
 */
export const isAllowedByReference = (request: PolicyRequest, documents: Documents): boolean => {
  const { requester, ownerAccountId } = request;
  const identity = documents.identity.flatMap((document) => rulesFor(document, request));
  const isWithin = !requester.isAnonymous && requester.accountId === ownerAccountId;
  const resource = documents.resource
    .map((document) => (isWithin ? withoutAccount(document, ownerAccountId) : document))
    .map((document) => (documents.boundary === undefined ? document : withoutExceptions(document)))
    .flatMap((document) => rulesFor(document, request));
  const boundary = documents.boundary?.flatMap((document) => rulesFor(document, request));
  const session = documents.session?.flatMap((document) => rulesFor(document, request));
  if ([...identity, ...resource, ...(boundary ?? []), ...(session ?? [])].includes("Deny")) return false;
  const sessionAllows = session === undefined || session.includes("Allow");
  const boundaryAllows = boundary === undefined || boundary.includes("Allow");
  const identityAllows = identity.includes("Allow");
  const resourceAllows = resource.includes("Allow") || documents.isGrantedByOwner;
  if (requester.isAnonymous) return sessionAllows && boundaryAllows && resourceAllows;
  if (requester.accountId === ownerAccountId) {
    if (documents.resource.some((document) => grantsByOwnArn(document, request))) return true;
    if (sessionAllows && documents.resource.some((document) => grantsToAll(document, request))) return true;
    return sessionAllows && boundaryAllows && (requester.isRoot || identityAllows || resourceAllows);
  }
  return sessionAllows && boundaryAllows && (requester.isRoot || identityAllows) && resourceAllows;
};

/** What a resource policy grants to everybody a boundary does not limit. */
const grantsToAll = ({ Version, Statement }: Document, request: PolicyRequest): boolean =>
  Statement.some(
    (rule) =>
      rule.Effect === "Allow" &&
      (rule.Principal === "*" || rule.Principal?.["AWS"]?.includes("*") === true) &&
      fits(rule, Version, request),
  );

/** Whoever has a boundary is denied what is denied to all but some. */
const withoutExceptions = ({ Version, Statement }: Document): Document => ({
  Version,
  Statement: Statement.map((rule) => {
    if (rule.Effect !== "Deny" || rule.NotPrincipal === undefined) return rule;
    const { NotPrincipal: _some, ...others } = rule;
    return { ...others, Principal: "*" };
  }),
});

/** What a resource policy grants to a principal by its own ARN is not narrowed with the session. */
const grantsByOwnArn = ({ Version, Statement }: Document, request: PolicyRequest): boolean =>
  Statement.some(
    (rule) =>
      rule.Effect === "Allow" &&
      typeof rule.Principal === "object" &&
      (rule.Principal["AWS"] ?? []).some((name) => publicText(name) === publicText(request.requester.principalArn)) &&
      fits(rule, Version, request),
  );

/** Whoever a resource policy allows something as one of its own account, it allows nothing yet. */
const withoutAccount = ({ Version, Statement }: Document, account: string): Document => ({
  Version,
  Statement: Statement.map((rule) => {
    if (rule.Effect === "Deny" || typeof rule.Principal !== "object") return rule;
    const AWS = (rule.Principal["AWS"] ?? []).filter((name) => !isAccount(name, account));
    return { ...rule, Principal: { ...rule.Principal, AWS } };
  }),
});

const isAccount = (name: string, account: string): boolean =>
  name === account || publicText(name) === `arn:aws:iam::${account}:root`;

/** The effects of the rules that fit. */
const rulesFor = (document: Document, request: PolicyRequest): ("Allow" | "Deny")[] =>
  document.Statement.filter((rule) => fits(rule, document.Version, request)).map((rule) => rule.Effect);

const publicText = (text: string): string =>
  text
    .replace(/^svc:/, "aws:")
    .replace(/^object-storage:/, "s3:")
    .replace(/^arn:svc:/, "arn:aws:")
    .replace(/^(arn:[^:]*):object-storage:/, "$1:s3:");

const fits = (rule: Rule, version: string, request: PolicyRequest): boolean => {
  const action = publicText(request.action).toLowerCase();
  const actions = (rule.Action ?? rule.NotAction ?? []).map((text) => publicText(text).toLowerCase());
  if (actions.some((pattern) => like(pattern, action)) === (rule.NotAction !== undefined)) return false;

  const resource = publicText(request.resource);
  const resources = rule.Resource ?? rule.NotResource;
  if (resources !== undefined) {
    const isListed = resources.some((pattern) => {
      const filled = fill(publicText(pattern), version, request);
      return filled !== undefined && arnLike(filled, resource);
    });
    if (isListed === (rule.NotResource !== undefined)) return false;
  }

  const principals = rule.Principal ?? rule.NotPrincipal;
  if (principals !== undefined) {
    const isNamed = principals === "*" || (principals["AWS"] ?? []).some((name) => names(name, request));
    if (isNamed === (rule.NotPrincipal !== undefined)) return false;
  }

  return Object.entries(rule.Condition ?? {}).every(([operator, keys]) =>
    Object.entries(keys).every(([key, values]) => holds(operator, key, values, version, request)),
  );
};

const names = (name: string, { requester }: PolicyRequest): boolean => {
  if (name === "*") return true;
  if (requester.isAnonymous) return false;
  const account = /^(?:\d{12}$|arn:[a-z]+:iam::(\d{12}):root$)/.exec(name);
  if (account !== null) return requester.accountId === (account[1] ?? name);
  const principal = publicText(requester.principalArn);
  const role = principal.replace(/^arn:aws:sts::(\d+):assumed-role\/([^/]+)\/.+$/, "arn:aws:iam::$1:role/$2");
  return [principal, role].includes(publicText(name));
};

const holds = (
  written: string,
  key: string,
  values: readonly string[],
  version: string,
  request: PolicyRequest,
): boolean => {
  const given = request.context.get(publicText(key).toLowerCase());
  if (written === "Null") return values.includes(String(given === undefined));
  const ifExists = written.endsWith("IfExists");
  const [quantifier, operator = ""] = written.includes(":") ? written.split(":") : ["", written];
  const name = operator.replace(/IfExists$/, "");
  const isNegated = name.includes("Not");
  const plain = name.replace("Not", "");
  const isAbsent = given === undefined || given.length === 0;
  if (isAbsent && ifExists) return true;
  if (isAbsent) return quantifier === "ForAllValues" || (quantifier === "" && isNegated);
  const compares = (value: string): boolean =>
    values.some((text) => {
      const filled = /^(?:String|Arn)/.test(plain) ? fill(text, version, request) : text;
      return filled !== undefined && compare(plain, value, filled);
    });
  const one = (value: string): boolean => compares(value) !== isNegated;
  if (quantifier === "ForAllValues" || (quantifier === "" && isNegated)) return given.every(one);
  return given.some(one);
};

const compare = (operator: string, value: string, wanted: string): boolean => {
  switch (operator) {
    case "StringEquals":
      return value === wanted.replaceAll(starText, "*");
    case "StringEqualsIgnoreCase":
      return value.toLowerCase() === wanted.replaceAll(starText, "*").toLowerCase();
    case "StringLike":
      return like(wanted, value);
    case "ArnLike":
    case "ArnEquals":
      return arnLike(publicText(wanted), publicText(value));
    case "NumericEquals":
      return Number(value) === Number(wanted);
    case "NumericLessThan":
      return Number(value) < Number(wanted);
    case "DateGreaterThanEquals":
      return Date.parse(value) >= Date.parse(wanted);
    case "Bool":
      return value === wanted;
    case "IpAddress":
      // The networks of the samples end at whole bytes.
      return `${value}.`.startsWith(
        `${wanted
          .split(".")
          .slice(0, Number(wanted.split("/")[1]) / 8)
          .join(".")}.`,
      );
    default:
      throw new Error(`the reference has no ${operator}`);
  }
};

/** Stands for a star that is meant as such. */
const starText = "\uE000";

const fill = (text: string, version: string, { context }: PolicyRequest): string | undefined => {
  if (version !== "2012-10-17") return text;
  let filled = text.replaceAll("${*}", starText);
  for (const [whole, key = ""] of text.matchAll(/\$\{([a-z]+:[a-z/]+)\}/gi)) {
    const values = context.get(publicText(key).toLowerCase());
    if (values?.length !== 1) return undefined;
    filled = filled.replaceAll(whole, (values[0] ?? "").replaceAll("*", starText));
  }
  return filled;
};

const like = (pattern: string, text: string): boolean => {
  const source = pattern
    .replaceAll(/[\\^$.|+()[\]{}]/g, String.raw`\$&`)
    .replaceAll("*", "[^]*")
    .replaceAll("?", "[^]")
    .replaceAll(starText, String.raw`\*`);
  return new RegExp(`^${source}$`).test(text);
};

const arnLike = (pattern: string, arn: string): boolean => {
  if (pattern === "*") return true;
  const wanted = pattern.split(":");
  const given = arn.split(":");
  if (given.length < 6) return like(pattern, arn);
  if (wanted.length < 6 && !pattern.endsWith("*")) return false;
  const parts = (all: readonly string[]): string[] => [...all.slice(0, 5), all.slice(5).join(":")];
  const each = parts(given);
  if (wanted.length >= 6) return parts(wanted).every((part, index) => like(part, each[index] ?? ""));
  return wanted.every((part, index) => like(part, each[index] ?? ""));
};
