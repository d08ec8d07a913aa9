/** The caller, as authenticated by the process that signed the token. */
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
  /** The process that signed the caller's token; empty until a token was verified. */
  readonly issuer: string;
  /** The account's canonical id; absent if the issuer does not know it. */
  readonly canonicalUserId?: string;
  /**
   * True if the issuer has already authorized this call, for example because the resource owner configured this
   * notification; the principal's policies are then not evaluated. Unset: they are.
   */
  readonly isPreauthorized?: boolean;
  /** The access key with which the original request was signed. */
  readonly accessKeyId?: string;
  /** The address from which the original request came. */
  readonly sourceIp?: string;
}

/** One list for all, because results about a list of policies are cached by its identity. */
const noPolicies: readonly string[] = [];

/** The caller of an unsigned request. */
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

/** A named user of an account, whose permissions are the identity policies. */
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

/** A session of a role of an account, whose permissions are the role's policies. */
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
