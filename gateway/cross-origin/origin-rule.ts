/** One rule for scripts of other origins. A pattern has at most one `*`, which matches any text. */
export interface OriginRule {
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods: readonly string[];
  readonly allowedHeaders: readonly string[];
  readonly exposeHeaders: readonly string[];
  readonly maxAgeSeconds?: number;
}

/** The headers by which a browser describes a script's request. */
export interface CrossOriginRequest {
  readonly origin: string;
  readonly method: string;
  /** The value of `access-control-request-headers`; undefined if it was not sent. */
  readonly headers: string | undefined;
}

/** The first rule that allows the origin, the method and, for a preflight request, every header. */
export const findOriginRule = (
  rules: readonly OriginRule[],
  request: CrossOriginRequest,
  isPreflight: boolean,
): OriginRule | undefined => {
  const asked = isPreflight ? headerNames(request.headers) : [];
  return rules.find(
    (rule) =>
      rule.allowedMethods.includes(request.method) &&
      rule.allowedOrigins.some((pattern) => fits(pattern, request.origin)) &&
      allowedBy(rule, asked).length === asked.length,
  );
};

/** The headers of an answer that a rule allows; names are lower case. */
export const originHeaders = (rule: OriginRule, request: CrossOriginRequest): Record<string, string> => {
  const isForAll = rule.allowedOrigins.includes("*");
  const headers: Record<string, string> = {
    "access-control-allow-origin": isForAll ? "*" : request.origin,
    "access-control-allow-methods": rule.allowedMethods.join(", "),
    vary: "Origin, Access-Control-Request-Headers, Access-Control-Request-Method",
  };
  // An answer that is the same for every origin must not depend on credentials.
  if (!isForAll) headers["access-control-allow-credentials"] = "true";
  const allowed = allowedBy(rule, headerNames(request.headers));
  if (allowed.length > 0) headers["access-control-allow-headers"] = allowed.join(", ");
  if (rule.exposeHeaders.length > 0) headers["access-control-expose-headers"] = rule.exposeHeaders.join(", ");
  if (rule.maxAgeSeconds !== undefined) headers["access-control-max-age"] = String(rule.maxAgeSeconds);
  return headers;
};

/** Different names, each once. */
const headerNames = (text: string | undefined): string[] => [
  ...new Set(
    (text ?? "")
      .split(",")
      .map((name) => name.trim().toLowerCase())
      .filter((name) => name !== ""),
  ),
];

/** Different names of a request up to which they are compared with wildcards. Scripts set some ten. */
const comparedNamesMax = 100;

/**
 * The headers that a rule allows of these lower-case names. A rule may have 64 KiB of patterns and a request 32 KiB of
 * names, so a name is looked up once for each pair of lengths before and after a wildcard, of which there may be 1,700,
 * and more than 100 names are only compared with `*` and whole names.
 */
const allowedBy = (rule: OriginRule, names: readonly string[]): readonly string[] => {
  if (names.length === 0) return names;
  const patterns = new Set(rule.allowedHeaders.map((pattern) => pattern.toLowerCase()));
  if (patterns.has("*")) return names;
  if (names.length > comparedNamesMax) return names.filter((name) => patterns.has(name));
  const pairs = new Map<string, readonly [before: number, after: number]>();
  for (const pattern of patterns) {
    const before = pattern.indexOf("*");
    const after = pattern.length - before - 1;
    if (before !== -1) pairs.set(`${before} ${after}`, [before, after]);
  }
  const lengths = [...pairs.values()];
  return names.filter(
    (name) =>
      patterns.has(name) ||
      lengths.some(
        ([before, after]) =>
          name.length >= before + after && patterns.has(`${name.slice(0, before)}*${name.slice(name.length - after)}`),
      ),
  );
};

const fits = (pattern: string, text: string): boolean => {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === text;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after);
};
