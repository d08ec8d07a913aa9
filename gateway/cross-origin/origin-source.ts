import type { OriginRule } from "./origin-rule.ts";

/** The rules of an API for scripts of other origins. */
export type OriginRules =
  | { readonly kind: "rules"; readonly rules: readonly OriginRule[] }
  /** Nobody has configured any. */
  | { readonly kind: "no-rules" }
  /** The resource of the request does not exist. */
  | { readonly kind: "no-resource" };

/** Where an API's rules come from. */
export interface OriginSource {
  /**
   * Finds the rules for the resource at a path inside the API, escapes untouched. Rejects with a ServiceError for a
   * path that is not UTF-8, and with the ConnectError of a service that cannot answer.
   */
  find(path: string): Promise<OriginRules>;
}

/** The source of an API with the same rules for every path: any signed request from these origins. Empty: no rules. */
export const fixedOrigins = (allowedOrigins: readonly string[]): OriginSource => {
  const rule: OriginRule = {
    allowedOrigins,
    allowedMethods: ["GET", "PUT", "POST", "PATCH", "DELETE"],
    allowedHeaders: ["*"],
    exposeHeaders: ["*"],
  };
  const found: OriginRules = allowedOrigins.length === 0 ? { kind: "no-rules" } : { kind: "rules", rules: [rule] };
  return { find: () => Promise.resolve(found) };
};
