import type { Caller } from "../../../services/kit/identity/caller.ts";

/** The caller's own user without its path; undefined of a root and of a role's session. */
export const callersOwnUser = ({ principalArn }: Pick<Caller, "principalArn">): string | undefined =>
  /^arn:[a-z0-9-]+:iam::\d{12}:user\/(?:.*\/)?([^/]+)$/.exec(principalArn)?.[1];
