import type { PathStep } from "./syntax.ts";
import type { TokenReader } from "./token-reader.ts";

/** Reads the steps of a path after its beginning: `.name`, `."name"`, `.*`, `[number]`, `['name']` and `[*]`. */
export const parsePathSteps = (tokens: TokenReader): PathStep[] => {
  const steps: PathStep[] = [];
  for (;;) {
    if (tokens.skipSign(".")) steps.push(parseMember(tokens));
    else if (tokens.skipSign("[")) {
      steps.push(parseElement(tokens));
      tokens.expectSign("]");
    } else return steps;
  }
};

const parseMember = (tokens: TokenReader): PathStep => {
  if (tokens.skipSign("*")) return { kind: "members" };
  const { kind, text } = tokens.next;
  if (kind !== "name" && kind !== "quotedName") throw tokens.refusal("PARSE_UNEXPECTED_TOKEN");
  tokens.take();
  return { kind: "name", name: text, isQuoted: kind === "quotedName" };
};

const parseElement = (tokens: TokenReader): PathStep => {
  if (tokens.skipSign("*")) return { kind: "all" };
  const { kind, text } = tokens.next;
  if (kind === "text") {
    tokens.take();
    return { kind: "name", name: text, isQuoted: true };
  }
  const index = Number(text);
  if (kind !== "number" || !Number.isSafeInteger(index)) throw tokens.refusal("PARSE_EXPECTED_NUMBER");
  tokens.take();
  return { kind: "index", index };
};
