/** Who is calling, as the gateway or another service has established it. */
export interface Caller {
  /** 12 digits; empty when anonymous. */
  readonly accountId: string;
  /** For example `arn:aws:iam::000000000000:user/alice`; empty when anonymous. */
  readonly principalArn: string;
  /** True for the account's own credentials, to which no identity policy applies. */
  readonly isRoot: boolean;
  readonly isAnonymous: boolean;
  /** Identity policies as JSON documents, verbatim. */
  readonly policies: readonly string[];
  /** The process that vouches for this caller; empty until a token was verified. */
  readonly issuer: string;
  /** The account's canonical id; absent where the process that vouches does not know what is declared. */
  readonly canonicalUserId?: string;
  /**
   * True when the service that vouches has already decided that this call may be made, for example because the owner of
   * what it tells asked to be told: then the principal's policies do not matter. Unset: they do.
   */
  readonly isPreauthorized?: boolean;
  /** The access key with which the original request was signed. */
  readonly accessKeyId?: string;
  /** The address from which the original request came. */
  readonly sourceIp?: string;
}

/** One list for all, because what is known about a list of policies is kept by the list itself. */
const noPolicies: readonly string[] = [];

/** A caller who signed nothing. */
export const anonymousCaller: Caller = {
  accountId: "",
  principalArn: "",
  isRoot: false,
  isAnonymous: true,
  policies: noPolicies,
  issuer: "",
};

/** The account itself. */
export const rootCaller = (accountId: string, partition = "aws"): Caller => ({
  accountId,
  principalArn: `arn:${partition}:iam::${accountId}:root`,
  isRoot: true,
  isAnonymous: false,
  policies: noPolicies,
  issuer: "",
});

/** A named user of an account, who may do what the identity policies allow. */
export const userCaller = (
  accountId: string,
  user: string,
  policies: readonly string[],
  partition = "aws",
): Caller => ({
  accountId,
  principalArn: `arn:${partition}:iam::${accountId}:user/${user}`,
  isRoot: false,
  isAnonymous: false,
  policies,
  issuer: "",
});

/** Who acts in a role of an account, under a session's name. The role's policies say what is allowed. */
export const roleCaller = (
  accountId: string,
  role: string,
  session: string,
  policies: readonly string[],
  partition = "aws",
): Caller => ({
  accountId,
  principalArn: `arn:${partition}:sts::${accountId}:assumed-role/${role}/${session}`,
  isRoot: false,
  isAnonymous: false,
  policies,
  issuer: "",
});

/** True for an account id: 12 digits. */
export const isAccountId = (text: string): boolean => /^[0-9]{12}$/.test(text);
