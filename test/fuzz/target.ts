import { ServiceError } from "../../services/kit/faults/service-error.ts";

/** A parser of bytes that somebody else has written, and what must hold for all of them. */
export interface FuzzTarget {
  /** Names the corpus: `test/fuzz/corpus/<name>.jsonl`. */
  readonly name: string;
  /** Inputs to begin with. */
  readonly seeds: readonly string[];
  /** Texts that mutations insert, besides the literals of the sources. */
  readonly dictionary: readonly string[];
  /** Parses one input. Throws if an invariant does not hold; refusals that are declared are no finding. */
  readonly run: (input: Buffer) => void | Promise<void>;
}

type ErrorClass = abstract new (...parameters: never[]) => Error;

/** The result of a parser, or undefined if it refuses with one of these classes. Other errors are thrown on. */
export const parsed = <T>(parse: () => T, ...declared: readonly ErrorClass[]): T | undefined => {
  try {
    return parse();
  } catch (error) {
    if (declared.some((each) => error instanceof each)) return undefined;
    throw error;
  }
};

/** The same for parsers that refuse with a declared fault of the gateway or a service. */
export const unlessRefused = <T>(parse: () => T): T | undefined => parsed(parse, ServiceError);

/** What a parser has come to, as text, so that two ways of feeding it can be compared. */
export const outcomeOf = async (parse: () => unknown, ...declared: readonly ErrorClass[]): Promise<string> => {
  try {
    return JSON.stringify(await parse()) ?? "nothing";
  } catch (error) {
    if (declared.some((each) => error instanceof each)) return `refused: ${(error as Error).message}`;
    throw error;
  }
};

/** Fails with what does not hold. */
export const holds = (condition: boolean, what: string): void => {
  if (!condition) throw new InvariantError(what);
};

/** An invariant of a parser does not hold. */
class InvariantError extends Error {
  override readonly name = "InvariantError";
}

/** The input in pieces of different lengths that follow from its bytes. */
export const piecesOf = (input: Buffer): Buffer[] => {
  const pieces: Buffer[] = [];
  for (let at = 0, step = 1; at < input.length; step = (step * 7 + input.length) % 61)
    pieces.push(input.subarray(at, (at += step + 1)));
  return pieces;
};
