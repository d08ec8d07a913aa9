import { Code } from "@connectrpc/connect";

const codes = new Map<number, Code>(
  Object.values(Code)
    .filter((value) => typeof value === "number")
    .map((code) => [code, code]),
);

/** A number of google.rpc.Code as connect's code; `unknown` if it is not one of an error. */
export const codeOfNumber = (number: number): Code => codes.get(number) ?? Code.Unknown;
