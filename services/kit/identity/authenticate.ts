import type { DescMethod } from "@bufbuild/protobuf";

import type { Caller } from "./caller.ts";
import type { Verifier } from "./tokens.ts";
import { UnauthenticatedError } from "./unauthenticated-error.ts";

/** Finds out who calls a method from the request's `authorization` metadata. Throws UnauthenticatedError. */
export type Authenticate = (authorization: string | undefined, method: DescMethod) => Promise<Caller>;

/** Accepts `Bearer <token>` with a token that the verifier vouches for; the scheme's case does not matter. */
export const bearerAuthenticate =
  (verifier: Verifier): Authenticate =>
  async (authorization) => {
    if (authorization === undefined || authorization === "") throw new UnauthenticatedError("missing");
    const space = authorization.indexOf(" ");
    if (space < 0 || authorization.slice(0, space).toLowerCase() !== "bearer")
      throw new UnauthenticatedError("malformed");
    return verifier.verify(authorization.slice(space + 1).trim());
  };
