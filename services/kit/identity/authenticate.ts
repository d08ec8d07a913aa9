import type { DescMethod } from "@bufbuild/protobuf";

import type { Caller } from "./caller.ts";
import type { Verifier } from "./tokens.ts";
import { UnauthenticatedError } from "./unauthenticated-error.ts";

/**
 * Returns the caller of a method, or of a page for operators, by the request's `authorization` metadata. Throws
 * UnauthenticatedError.
 */
export type Authenticate = (authorization: string | undefined, method?: DescMethod) => Promise<Caller>;

/** Whom a process may name in the tokens that it signs. */
export interface IssuerRight {
  /** It may name any caller, like the gateway, which has checked each caller's signature. Unset: it may not. */
  readonly anyCaller?: boolean;
  /** The methods for which it may name a caller whose call it has decided on (`isPreauthorized`). Unset: none. */
  readonly preauthorizedFor?: readonly string[];
}

/** The rights of each issuer by its name. Who is not listed may name nobody. */
export type IssuerRights = Readonly<Record<string, IssuerRight>>;

/**
 * Accepts `Bearer <token>` with a token that the verifier vouches for and whose issuer has the right to name its
 * caller; the scheme's case does not matter.
 */
export const bearerAuthenticate =
  (verifier: Verifier, rights: IssuerRights): Authenticate =>
  async (authorization, method) => {
    if (authorization === undefined || authorization === "") throw new UnauthenticatedError("missing");
    const space = authorization.indexOf(" ");
    if (space < 0 || authorization.slice(0, space).toLowerCase() !== "bearer")
      throw new UnauthenticatedError("malformed");
    const caller = await verifier.verify(authorization.slice(space + 1).trim());
    if (!mayName(rights, caller, method)) throw new UnauthenticatedError("untrusted");
    return caller;
  };

const mayName = (rights: IssuerRights, caller: Caller, method: DescMethod | undefined): boolean => {
  const right = Object.hasOwn(rights, caller.issuer) ? rights[caller.issuer] : undefined;
  if (caller.isPreauthorized !== true) return right?.anyCaller === true;
  return method !== undefined && right?.preauthorizedFor?.includes(method.name) === true;
};
