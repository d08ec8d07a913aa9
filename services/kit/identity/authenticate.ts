import type { IncomingHttpHeaders } from "node:http";

import type { DescMethod } from "@bufbuild/protobuf";

import { parseArn } from "../arn/arn.ts";
import type { Caller } from "./caller.ts";
import type { Connection } from "./connection.ts";
import { connectionFacts } from "./connection.ts";
import type { Verifier } from "./tokens.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";
import { UnauthenticatedError } from "./unauthenticated-error.ts";

/**
 * Returns the caller of a method, or of a page for operators, by the request's `authorization` metadata and by the
 * connection of the call with its headers. Throws UnauthenticatedError.
 */
export type Authenticate = (
  authorization: string | undefined,
  method?: DescMethod,
  connection?: Connection,
  headers?: IncomingHttpHeaders,
) => Promise<Caller>;

/** Whom a process may name in the tokens that it signs. */
export interface IssuerRight {
  /** It may name any caller, like the gateway, which has checked each caller's signature. Unset: it may not. */
  readonly anyCaller?: boolean;
  /** The methods for which it may name a caller whose call it has decided on (`isPreauthorized`). Unset: none. */
  readonly preauthorizedFor?: readonly string[];
  /**
   * Its tokens are shown by the clients themselves: they say nothing of the request, and the caller's address is that
   * of the connection. Unset: the process that signed the token makes the call, and says where it came from.
   */
  readonly isOfClients?: boolean;
  /** The methods for which it may name sessions of roles, whose policies decide. Unset: none. */
  readonly sessionsFor?: readonly string[];
  /** The services in whose names it may call the same methods. Unset: none. */
  readonly services?: readonly string[];
}

/** The rights of each issuer by its name. Who is not listed may name nobody. */
export type IssuerRights = Readonly<Record<string, IssuerRight>>;

/**
 * Accepts `Bearer <token>` with a token that the verifier vouches for and whose issuer has the right to name its
 * caller; the scheme's case does not matter. `proxies`: those that say where clients call from. Unset: none.
 */
export const bearerAuthenticate =
  (verifier: Verifier, rights: IssuerRights, proxies?: TrustedProxies): Authenticate =>
  async (authorization, method, connection, headers = {}) => {
    if (authorization === undefined || authorization === "") throw new UnauthenticatedError("missing");
    const space = authorization.indexOf(" ");
    if (space < 0 || authorization.slice(0, space).toLowerCase() !== "bearer")
      throw new UnauthenticatedError("malformed");
    const caller = await verifier.verify(authorization.slice(space + 1).trim());
    const right = Object.hasOwn(rights, caller.issuer) ? rights[caller.issuer] : undefined;
    if (!mayName(right, caller, method)) throw new UnauthenticatedError("untrusted");
    if (right?.isOfClients !== true) return caller;
    const facts = proxies?.readFacts(headers, connection) ?? connectionFacts(connection);
    return { ...caller, ...facts, isTokenBorne: true };
  };

/** Authenticates a call as the service of its method does, by that one's name in the contract. */
export const authenticateByService =
  (ofServices: ReadonlyMap<string, Authenticate>): Authenticate =>
  async (authorization, method, connection, headers) => {
    const authenticate = ofServices.get(method?.parent.typeName ?? "");
    // Whoever calls no service of these has no token for it.
    if (authenticate === undefined) throw new UnauthenticatedError("audience");
    return authenticate(authorization, method, connection, headers);
  };

const mayName = (right: IssuerRight | undefined, caller: Caller, method: DescMethod | undefined): boolean => {
  const isIn = (names: readonly string[] | undefined): boolean =>
    method !== undefined && names?.includes(method.name) === true;
  if (caller.isPreauthorized === true) return caller.service === undefined && isIn(right?.preauthorizedFor);
  if (caller.service !== undefined)
    return right?.services?.includes(caller.service.name) === true && isIn(right.sessionsFor);
  return right?.anyCaller === true || (isIn(right?.sessionsFor) && isRoleSession(caller));
};

const isRoleSession = ({ principalArn, isRoot }: Caller): boolean =>
  !isRoot && parseArn(principalArn)?.resource.startsWith("assumed-role/") === true;
