/**
 * The path of a request as the proxy reads it: it is split at `/` before the segments are decoded for matching, so an
 * encoded slash never separates segments. The text that was received is forwarded unchanged.
 */
export interface RequestPath {
  /** The segments as received. */
  readonly raw: readonly string[];
  /** The same with percent-escapes replaced; bytes above 127 are Latin-1 characters. */
  readonly decoded: readonly string[];
  /** Whether the path ended with a slash, which is forwarded but not part of matching. */
  readonly endsWithSlash: boolean;
}

/** A request target: path and query, the query with its `?` or empty. */
export interface RequestTarget {
  readonly path: string;
  readonly query: string;
}

/** The request's path cannot be forwarded safely; the message says why. */
export class UnsafePathError extends Error {
  override readonly name = "UnsafePathError";
}

/** The scheme and the host of a request target that is a whole URL, as proxies send it. */
const absoluteForm = /^https?:\/\/([^/?#]*)/i;

/** Splits a request target that is a whole URL into its host and the rest; undefined for any other target. */
export const splitAbsolute = (target: string): { readonly host: string; readonly rest: string } | undefined => {
  const [origin, host] = target.startsWith("/") ? [] : (absoluteForm.exec(target) ?? []);
  return origin === undefined || host === undefined ? undefined : { host, rest: target.slice(origin.length) };
};

/** Splits a request target in origin form or absolute form. Throws UnsafePathError for others, such as `*`. */
export const parseRequestTarget = (target: string): RequestTarget => {
  const absolute = splitAbsolute(target);
  const rest = absolute === undefined ? target : absolute.rest || "/";
  if (!rest.startsWith("/") && !(absolute !== undefined && rest.startsWith("?")))
    throw new UnsafePathError("the request target is not a path");
  if (rest.includes("#")) throw new UnsafePathError("the request target has a fragment");
  const at = rest.indexOf("?");
  const path = at === -1 ? rest : rest.slice(0, at);
  return { path: path === "" ? "/" : path, query: at === -1 ? "" : rest.slice(at) };
};

/**
 * Reads a path. Throws UnsafePathError for anything that a service could read as another path than the one that was
 * matched: dot segments in any spelling (`..`, `%2e%2e`, `..%2F`, `..;x`), backslashes, NUL and broken escapes.
 */
export const parseRequestPath = (path: string): RequestPath => {
  if (path.includes("\\")) throw new UnsafePathError("the path has a backslash");
  if (path.includes("\0")) throw new UnsafePathError("the path has a NUL");
  const raw = path.split("/");
  raw.shift();
  const endsWithSlash = raw.at(-1) === "";
  if (endsWithSlash) raw.pop();
  return { raw, decoded: raw.map((segment) => readSegment(segment)), endsWithSlash };
};

const readSegment = (segment: string): string => {
  if (!segment.includes("%")) {
    if (segment.startsWith(".")) refuseDots(segment);
    return segment;
  }
  const decoded = segment.replace(/%([0-9a-fA-F]{2})/g, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  if (/%(?![0-9a-fA-F]{2})/.test(segment)) throw new UnsafePathError("the path has a broken percent-escape");
  if (decoded.includes("\0")) throw new UnsafePathError("the path has a NUL");
  for (const part of decoded.split(/[/\\]/)) refuseDots(part);
  return decoded;
};

/** Some servers remove `;` parameters before they resolve dots, so `..;x` counts as `..`. */
const refuseDots = (part: string): void => {
  const name = part.split(";", 1)[0];
  if (name === "." || name === "..") throw new UnsafePathError("the path has a dot segment");
};

/** The parts of a service's URL. */
export interface TargetUrl {
  /** Scheme, host and port, for example `http://127.0.0.1:9000`. */
  readonly origin: string;
  /** The Host header that the service receives. */
  readonly host: string;
  /** The path as in the URL, at least `/`. */
  readonly path: string;
  /** The query with its `?`, or empty. */
  readonly query: string;
}

/** Parses a service's URL. Throws TypeError if it is not a URL. */
export const parseTargetUrl = (text: string): TargetUrl => {
  const url = new URL(text);
  return { origin: url.origin, host: url.host, path: url.pathname, query: url.search };
};

/** The path and query for a service: those of its URL, then the remaining segments, then the request's query. */
export const forwardedTarget = (
  target: TargetUrl,
  segments: readonly string[],
  endsWithSlash: boolean,
  query: string,
): string => {
  const base = target.path.endsWith("/") ? target.path.slice(0, -1) : target.path;
  const rest = segments.length === 0 ? "" : `/${segments.join("/")}`;
  const path = rest === "" ? (endsWithSlash ? `${base}/` : target.path) : `${base}${rest}${endsWithSlash ? "/" : ""}`;
  if (target.query === "") return path + query;
  return query.length > 1 ? `${path}${target.query}&${query.slice(1)}` : path + target.query;
};
