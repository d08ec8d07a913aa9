import type { PolicyCondition } from "./condition.ts";
import { parseCondition } from "./condition.ts";
import { parseJson } from "../json/parse-json.ts";

/** A parsed policy. */
export interface Policy {
  readonly version: "2008-10-17" | "2012-10-17";
  readonly id: string | undefined;
  readonly statements: readonly Statement[];
}

/** One rule of a policy. */
export interface Statement {
  readonly sid: string | undefined;
  readonly effect: "Allow" | "Deny";
  /** Undefined in identity policies, which apply to the principal that carries them. */
  readonly principal: Selection<Principal> | undefined;
  readonly action: Selection<string>;
  /** Undefined if the document names none: the statement applies to the policy's own resource. */
  readonly resource: Selection<string> | undefined;
  readonly conditions: readonly PolicyCondition[];
}

/** A set of values, or its complement. */
export interface Selection<T> {
  readonly isNegated: boolean;
  readonly entries: readonly T[];
}

/** `*` of any kind matches everyone, anonymous callers included. */
export interface Principal {
  readonly kind: "everyone" | "account" | "arn" | "service" | "federated" | "canonical-user";
  readonly value: string;
}

/** The kind of policy that a document must be. */
export interface DocumentRules {
  /** Resource policies name principals; identity policies must not. */
  readonly principals: "required" | "forbidden";
  /** Member names besides `AWS` under which a principal lists accounts and ARNs. */
  readonly accountMembers?: readonly string[];
  readonly bytesMax: number;
}

/** A document is not a valid policy. The message says where and why. */
export class PolicyError extends Error {
  override readonly name: string = "PolicyError";
}

/** What a policy names as a principal cannot be one. */
export class PrincipalError extends PolicyError {
  override readonly name = "PrincipalError";
}

const statementMembers = new Set([
  "Sid",
  "Effect",
  "Principal",
  "NotPrincipal",
  "Action",
  "NotAction",
  "Resource",
  "NotResource",
  "Condition",
]);

/** Parses a policy document. Throws PolicyError if it is invalid or has unknown members. */
export const parsePolicy = (text: string, rules: DocumentRules): Policy => {
  if (Buffer.byteLength(text) > rules.bytesMax)
    throw new PolicyError(`the policy has more than ${rules.bytesMax} bytes`);
  if (!text.startsWith("{")) throw new PolicyError("the first byte of a policy must be {");
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    throw new PolicyError("the policy is not valid JSON");
  }
  const document = asObject(parsed, "the policy");
  refuseUnknown(document, new Set(["Version", "Id", "Statement"]), "the policy");
  const version = document["Version"] ?? "2008-10-17";
  if (version !== "2008-10-17" && version !== "2012-10-17")
    throw new PolicyError("Version must be 2012-10-17 or 2008-10-17");
  const listed = asList(document["Statement"]);
  if (listed.length === 0) throw new PolicyError("Statement must not be empty");
  const statements = listed.map((statement, index) => parseStatement(statement, `Statement[${index}]`, rules));
  // An empty Sid is an absent one: clients written in Go send one with each statement.
  const sids = statements.map(({ sid }) => sid ?? "").filter((sid) => sid !== "");
  if (new Set(sids).size !== sids.length) throw new PolicyError("each Sid must be unique");
  return { version, id: optionalText(document["Id"], "Id"), statements };
};

const parseStatement = (given: unknown, at: string, rules: DocumentRules): Statement => {
  const statement = asObject(given, at);
  refuseUnknown(statement, statementMembers, at);
  const effect = statement["Effect"];
  if (effect !== "Allow" && effect !== "Deny") throw new PolicyError(`${at}.Effect must be Allow or Deny`);
  const action = selection(statement, "Action", at, texts);
  if (action === undefined) throw new PolicyError(`${at} needs Action or NotAction`);
  for (const each of action.entries)
    if (each !== "*" && !/^[A-Za-z0-9-]+:[A-Za-z0-9*?]+$/.test(each))
      throw new PolicyError(`${at}.Action: ${JSON.stringify(each)} is not an action`);
  const principal = selection(statement, "Principal", at, (value, place) => readPrincipals(value, place, rules));
  if (rules.principals === "required" && principal === undefined)
    throw new PolicyError(`${at} needs Principal or NotPrincipal`);
  if (rules.principals === "forbidden" && principal !== undefined)
    throw new PolicyError(`${at} must not name a principal`);
  return {
    sid: optionalText(statement["Sid"], `${at}.Sid`),
    effect,
    principal,
    action,
    resource: selection(statement, "Resource", at, texts),
    conditions: parseConditions(statement["Condition"], `${at}.Condition`),
  };
};

const selection = <T>(
  statement: Readonly<Record<string, unknown>>,
  member: string,
  at: string,
  parse: (value: unknown, place: string) => T[],
): Selection<T> | undefined => {
  const plain = statement[member];
  const negated = statement[`Not${member}`];
  if (plain !== undefined && negated !== undefined) throw new PolicyError(`${at} has both ${member} and Not${member}`);
  if (plain !== undefined) return { isNegated: false, entries: parse(plain, `${at}.${member}`) };
  if (negated !== undefined) return { isNegated: true, entries: parse(negated, `${at}.Not${member}`) };
  return undefined;
};

/** Throws PrincipalError. */
const readPrincipals = (value: unknown, at: string, rules: DocumentRules): Principal[] => {
  try {
    return principals(value, at, rules);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    throw new PrincipalError(error.message);
  }
};

const principals = (value: unknown, at: string, rules: DocumentRules): Principal[] => {
  if (value === "*") return [{ kind: "everyone", value: "*" }];
  const accountMembers = ["AWS", ...(rules.accountMembers ?? [])];
  const found = Object.entries(asObject(value, at)).flatMap(([member, listed]) => {
    const values = texts(listed, `${at}.${member}`);
    if (accountMembers.includes(member)) return values.map((each) => accountPrincipal(each, `${at}.${member}`));
    if (member === "Service") return values.map((each): Principal => ({ kind: "service", value: each }));
    if (member === "Federated") return values.map((each): Principal => ({ kind: "federated", value: each }));
    if (member === "CanonicalUser") return values.map((each): Principal => ({ kind: "canonical-user", value: each }));
    throw new PolicyError(`${at}: ${JSON.stringify(member)} is not a kind of principal`);
  });
  if (found.length === 0) throw new PolicyError(`${at} must not be empty`);
  return found;
};

const accountPrincipal = (value: string, at: string): Principal => {
  if (value === "*") return { kind: "everyone", value };
  if (/^\d{12}$/.test(value)) return { kind: "account", value };
  const arn = /^arn:[a-z0-9-]+:(?:iam|sts)::(\d{12}):(.+)$/.exec(value);
  if (arn?.[1] === undefined || arn[2]?.includes("*"))
    throw new PolicyError(`${at}: ${JSON.stringify(value)} is not a principal`);
  return arn[2] === "root" ? { kind: "account", value: arn[1] } : { kind: "arn", value };
};

const parseConditions = (given: unknown, at: string): PolicyCondition[] => {
  if (given === undefined) return [];
  return Object.entries(asObject(given, at)).flatMap(([operator, keys]) =>
    Object.entries(asObject(keys, `${at}.${operator}`)).map(([key, values]) => {
      const listed = asList(values).map((value) => {
        if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
          throw new PolicyError(`${at}.${operator}.${key} must hold strings, numbers or booleans`);
        return String(value);
      });
      const condition = parseCondition(operator, key, listed);
      if (typeof condition === "string") throw new PolicyError(`${at}.${operator}.${key}: ${condition}`);
      return condition;
    }),
  );
};

const texts = (value: unknown, at: string): string[] => {
  const listed = asList(value);
  if (listed.length === 0) throw new PolicyError(`${at} must not be empty`);
  return listed.map((each) => {
    if (typeof each !== "string" || each === "") throw new PolicyError(`${at} must hold strings that are not empty`);
    return each;
  });
};

const asList = (value: unknown): unknown[] => (value === undefined ? [] : Array.isArray(value) ? value : [value]);

const asObject = (value: unknown, at: string): Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new PolicyError(`${at} must be an object`);
  return value as Readonly<Record<string, unknown>>;
};

const optionalText = (value: unknown, at: string): string | undefined => {
  if (value !== undefined && typeof value !== "string") throw new PolicyError(`${at} must be a string`);
  return value;
};

const refuseUnknown = (given: Readonly<Record<string, unknown>>, known: ReadonlySet<string>, at: string): void => {
  for (const member of Object.keys(given))
    if (!known.has(member)) throw new PolicyError(`${at} has no member ${JSON.stringify(member)}`);
};
