import { hash } from "node:crypto";

import { parseJson } from "../json/parse-json.ts";

/** Where a chain of lines has come to: the last line's number and its digest. */
export interface ChainEnd {
  /** Lines are numbered from 1. 0: there is no line yet. */
  readonly sequence: number;
  /** SHA-256 in hexadecimal; empty before the first line. */
  readonly digest: string;
}

/** The end of a chain without lines. */
export const chainStart: ChainEnd = { sequence: 0, digest: "" };

/**
 * Writes the next line of a chain, with its line feed. It carries its number, its time and members, the digest of the
 * line before it, and as its last member its own: the SHA-256 of its text without that member.
 */
export const chainLine = (
  end: ChainEnd,
  time: string,
  members: object,
): { readonly line: string; readonly end: ChainEnd } => {
  const sequence = end.sequence + 1;
  // Without a copy of the members for each line.
  const text = JSON.stringify(members).slice(1, -1);
  const open = `{"sequence":${sequence},"time":"${time}",${text},"previous":"${end.digest}"`;
  const digest = hash("sha256", `${open}}`);
  return { line: `${open},"digest":"${digest}"}\n`, end: { sequence, digest } };
};

/** A line whose own digest is right, as far as chains need it. */
export interface ReadLine extends ChainEnd {
  readonly previous: string;
  /** The event of a line that is not about a decision; undefined for one that is. */
  readonly event: string | undefined;
  /** Of the torn line that a line with the event `torn-line` names. */
  readonly bytes: number | undefined;
}

/** Reads a line without its line feed. Undefined if it is not a line of a chain, or if its own digest is wrong. */
export const readLine = (text: string): ReadLine | undefined => {
  const [, digest] = /,"digest":"([0-9a-f]{64})"\}$/.exec(text) ?? [];
  if (digest === undefined) return undefined;
  const body = `${text.slice(0, -digestLength)}}`;
  if (hash("sha256", body) !== digest) return undefined;
  const { sequence, previous, event, bytes } = parseJson(body) as Partial<ReadLine>;
  if (typeof sequence !== "number" || typeof previous !== "string") return undefined;
  return { sequence, previous, digest, event, bytes };
};

/** Characters of `,"digest":"…"}`. */
const digestLength = 77;
