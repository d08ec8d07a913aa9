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
): OriginRule | undefined =>
  rules.find(
    (rule) =>
      rule.allowedMethods.includes(request.method) &&
      rule.allowedOrigins.some((pattern) => fits(pattern, request.origin)) &&
      (!isPreflight || headerNames(request.headers).every((name) => allowsHeader(rule, name))),
  );

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
  const allowed = headerNames(request.headers).filter((name) => allowsHeader(rule, name));
  if (allowed.length > 0) headers["access-control-allow-headers"] = allowed.join(", ");
  if (rule.exposeHeaders.length > 0) headers["access-control-expose-headers"] = rule.exposeHeaders.join(", ");
  if (rule.maxAgeSeconds !== undefined) headers["access-control-max-age"] = String(rule.maxAgeSeconds);
  return headers;
};

const headerNames = (text: string | undefined): string[] =>
  (text ?? "")
    .split(",")
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== "");

const allowsHeader = (rule: OriginRule, name: string): boolean =>
  rule.allowedHeaders.some((pattern) => fits(pattern.toLowerCase(), name));

const fits = (pattern: string, text: string): boolean => {
  const star = pattern.indexOf("*");
  if (star === -1) return pattern === text;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  return text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after);
};
