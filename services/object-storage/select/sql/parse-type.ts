import { decimalDigitsMax } from "../values/decimal.ts";
import type { CastType } from "./syntax.ts";
import type { TokenReader } from "./token-reader.ts";

const kinds: Readonly<Record<string, CastType["kind"]>> = {
  BOOL: "bool",
  BOOLEAN: "bool",
  INT: "int",
  INTEGER: "int",
  BIGINT: "int",
  FLOAT: "float",
  DOUBLE: "float",
  REAL: "float",
  STRING: "string",
  VARCHAR: "string",
  CHAR: "string",
  DECIMAL: "decimal",
  NUMERIC: "decimal",
  TIMESTAMP: "timestamp",
};

/** The type of a CAST, with its length or its precision and scale. */
export const parseCastType = (tokens: TokenReader): CastType => {
  const kind = tokens.next.kind === "name" ? kinds[tokens.next.word] : undefined;
  if (kind === undefined) throw tokens.refusal("PARSE_EXPECTED_TYPE_NAME");
  tokens.take();
  const parameters = tokens.isSign("(") ? parseParameters(tokens) : [];
  const [first, second = 0] = parameters;
  const isValid =
    parameters.length === 0 ||
    (kind === "string" && parameters.length === 1) ||
    (kind === "decimal" && (first ?? 0) >= 1 && (first ?? 0) <= decimalDigitsMax && second <= (first ?? 0));
  if (!isValid || parameters.length > 2)
    throw tokens.refusal("PARSE_INVALID_TYPE_PARAM", `${parameters.join(", ")} before`);
  if (kind === "string") return { kind, length: first };
  return kind === "decimal" ? { kind, precision: first, scale: second } : { kind };
};

const parseParameters = (tokens: TokenReader): number[] => {
  tokens.expectSign("(");
  const parameters: number[] = [];
  do {
    const { kind, text } = tokens.next;
    if (kind !== "number" || !/^[0-9]{1,7}$/.test(text)) throw tokens.refusal("PARSE_EXPECTED_NUMBER");
    tokens.take();
    parameters.push(Number(text));
  } while (tokens.skipSign(","));
  tokens.expectSign(")");
  return parameters;
};
