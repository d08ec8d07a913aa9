/**
 * The canonical form of a request, which is signed. All texts are as in `node:http`: one character for each byte on the
 * wire.
 */
import type { QueryParameter } from "../http/query.ts";

/** Header values by lower-case name, in the order in which they were sent. */
export type HeaderIndex = ReadonlyMap<string, readonly string[]>;

/** Indexes `[name, value, name, value, ...]`. */
export const indexHeaders = (rawHeaders: readonly string[]): HeaderIndex => {
  const index = new Map<string, string[]>();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    const value = rawHeaders[at + 1] ?? "";
    const values = index.get(name);
    if (values === undefined) index.set(name, [value]);
    else values.push(value);
  }
  return index;
};

/** A header's values joined and trimmed; undefined if it is absent. */
export const headerValue = (headers: HeaderIndex, name: string): string | undefined => {
  const values = headers.get(name);
  if (values === undefined) return undefined;
  return values.length === 1 ? collapse(values[0]!) : values.map(collapse).join(",");
};

/** `name:value` lines with their line ends, in the order of the names. An absent header has an empty value. */
export const canonicalHeaders = (headers: HeaderIndex, names: readonly string[]): string => {
  let lines = "";
  for (const name of names) {
    const values = headers.get(name) ?? noValues;
    lines += `${name}:${values.length === 1 ? values[0] : values.join(",")}\n`;
  }
  // Mostly no value has a blank; to look at all of them at once costs less than to look at each.
  if (!blank.test(lines)) return lines;
  let collapsed = "";
  for (const name of names) collapsed += `${name}:${headerValue(headers, name) ?? ""}\n`;
  return collapsed;
};

/** The path with every segment in its canonical percent-encoding, without normalization. For object storage. */
export const singleEncodedPath = (rawPath: string): string =>
  plainPath.test(rawPath) ? rawPath : reencode(rawPath, "/", false);

/** The path without `.`, `..` and empty segments, encoded once more. For all other APIs. */
export const doubleEncodedPath = (rawPath: string): string => {
  const segments: string[] = [];
  for (const segment of rawPath.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const end = segments.length > 0 && rawPath.endsWith("/") ? "/" : "";
  return encode(`/${segments.join("/")}${end}`, "/");
};

/** Whether no other path has the same `doubleEncodedPath`; a signature would be valid for both. */
export const isItsOwnCanonicalPath = (rawPath: string): boolean => {
  const segments = rawPath.slice(1).split("/");
  return segments.every(
    (segment, index) => segment !== "." && segment !== ".." && (segment !== "" || index === segments.length - 1),
  );
};

/**
 * The parameters except one, sorted by name and value. Sorting the joined spelling would put `a-b=` before `a=`, so
 * names are compared first.
 */
export const canonicalQuery = (
  parameters: readonly QueryParameter[],
  without: string | undefined,
  spelling: "canonical" | "raw" = "canonical",
): string => {
  const texts = parameters
    .filter((parameter) => parameter.name !== without)
    .map(({ raw }) => (spelling === "raw" ? raw : canonicalParameter(raw)));
  if (texts.length < 2) return texts[0] ?? "";
  return texts
    .map(sortable)
    .toSorted((a, b) => compare(a.name, b.name) || compare(a.value, b.value))
    .map(({ text }) => text)
    .join("&");
};

/** A parameter with what it is sorted by, which is found once and not in each comparison. */
const sortable = (text: string): { readonly text: string; readonly name: string; readonly value: string } => {
  const [name = "", value = ""] = text.split("=", 2);
  return { text, name, value };
};

const canonicalParameter = (raw: string): string => {
  const equals = raw.indexOf("=");
  return `${reencode(raw.slice(0, equals), "", true)}=${reencode(raw.slice(equals + 1), "", true)}`;
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const collapse = (value: string): string =>
  uncollapsed.test(value) ? value.replace(/[ \t]+/g, " ").replace(/^ | $/g, "") : value;

const noValues: readonly string[] = [];
const uncollapsed = /\t| {2}|^ | $/;
const blank = /[\t ]/;

const plainPath = /^[A-Za-z0-9\-._~/]*$/;
const unreserved = /^[A-Za-z0-9\-._~]*$/;
const notUnreserved = /[^A-Za-z0-9\-._~]/g;
const notUnreservedOrEscape = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~]/g;

/** Encodes every byte except the unreserved ones and those in `keep`. */
const encode = (text: string, keep: string): string =>
  text.replace(notUnreserved, (each) => (keep.includes(each) ? each : escapeBytes(each)));

/** The same, but percent escapes are not encoded again, and a plus in a query is a space. */
const reencode = (text: string, keep: string, plusIsSpace: boolean): string => {
  if (unreserved.test(text)) return text;
  return text.replace(notUnreservedOrEscape, (each) => {
    if (each.length === 3) {
      const character = String.fromCharCode(Number.parseInt(each.slice(1), 16));
      return unreserved.test(character) ? character : each.toUpperCase();
    }
    if (each === "+" && plusIsSpace) return "%20";
    return keep.includes(each) ? each : escapeBytes(each);
  });
};

const escapeBytes = (character: string): string => {
  const code = character.charCodeAt(0);
  return `%${code.toString(16).toUpperCase().padStart(2, "0")}`;
};
