import type { Identity } from "../pipeline/identify.ts";
import type { OriginRule } from "./origin-rule.ts";

/** What an API says about scripts of other origins. */
export type OriginRules =
  | { readonly kind: "rules"; readonly rules: readonly OriginRule[] }
  /** Nobody made any. */
  | { readonly kind: "no-rules" }
  /** What the request is about does not exist. */
  | { readonly kind: "no-resource" };

/** Where an API's rules come from. */
export interface OriginSource {
  /** Finds the rules for what a request is about. Rejects with the ConnectError of a service that cannot tell them. */
  find(identity: Identity): Promise<OriginRules>;
}

/** An API with the same rules everywhere: these origins may send anything that is signed. None given: it has no rules. */
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
