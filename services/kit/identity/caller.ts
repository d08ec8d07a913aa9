import type { CallingService } from "./calling-service.ts";

/** What one request says of itself. It differs from call to call, so it is sent next to the token, not in it. */
export interface RequestFacts {
  /** The `User-Agent` and the `Referer` of the original request, as the client chose them, at most 1 KiB of each. */
  readonly userAgent?: string;
  readonly referer?: string;
  /** Milliseconds since the original request was signed; absent if its signature names no time. */
  readonly signatureAgeMs?: number;
  /** The original request was an HTML form, which is carried out as another operation. Absent: it was none. */
  readonly isForm?: true;
}

/** The caller, as authenticated by the process that signed the token. */
export interface Caller extends RequestFacts {
  /** 12 digits; empty when anonymous. */
  readonly accountId: string;
  /** For example `arn:aws:iam::000000000000:user/alice`; empty when anonymous. */
  readonly principalArn: string;
  /** Of a session: the path of its role, which its ARN does not have, for example `/team/`. Unset: `/`. */
  readonly rolePath?: string;
  /** Of a federated user: the ARN of the user or root by whose key its session began, whose policies it has. */
  readonly federatedBy?: string;
  /** True for the account's own credentials, to which no identity policy applies. */
  readonly isRoot: boolean;
  readonly isAnonymous: boolean;
  /** Identity policies as JSON documents, verbatim. */
  readonly policies: readonly string[];
  /**
   * The document of the permissions boundary of the user or role: its policies allow nothing that the boundary does not
   * allow as well. Unset: it has none. A root has none.
   */
  readonly permissionsBoundary?: string;
  /** The process that signed the caller's token; empty until a token was verified. */
  readonly issuer: string;
  /** The account's canonical id; absent if the issuer does not know it. */
  readonly canonicalUserId?: string;
  /**
   * True if the issuer has already authorized this call, for example because the resource owner configured this
   * notification; the principal's policies are then not evaluated. Unset: they are.
   */
  readonly isPreauthorized?: boolean;
  /** The access key with which the original request was signed, or with which the token was got that it showed. */
  readonly accessKeyId?: string;
  /** True if the original request showed a token instead of a signature. Such a caller gets no credentials. */
  readonly isTokenBorne?: boolean;
  /** The address from which the original request came. */
  readonly sourceIp?: string;
  /** Whether the original request came over TLS; absent for a caller that sent none. */
  readonly isSecureTransport?: boolean;
  /** The version of TLS of the original request, `1.2` or `1.3`; absent where it came without, or by a proxy. */
  readonly tlsVersion?: string;
  /** `AWS4-HMAC-SHA256`, `AWS4-ECDSA-P256-SHA256`, or `AWS` of version 2; absent if the request was not signed. */
  readonly signatureVersion?: SignatureVersion;
  /** Where the request had its signature; absent if it was not signed. */
  readonly authType?: AuthType;
  /** The tags of the user or role, with those of the session in place of the role's of the same key. Unset: none. */
  readonly principalTags?: Readonly<Record<string, string>>;
  /**
   * The policies of the session, JSON documents verbatim: what is allowed must be allowed by them, too. Unset: the
   * session has none and is not limited. An empty list allows nothing.
   */
  readonly sessionPolicies?: readonly string[];
  /** When the session's temporary credentials were issued, in milliseconds; absent without temporary credentials. */
  readonly tokenIssueTimeMs?: number;
  /** When the session's temporary credentials end, in milliseconds; absent without temporary credentials. */
  readonly sessionEndMs?: number;
  /** What whoever assumed the role was called by; absent without it. */
  readonly sourceIdentity?: string;
  /** The keys of the session's tags that follow into sessions which this one begins. Unset: none. */
  readonly transitiveTagKeys?: readonly string[];
  /** The service that calls in its own name. It has no account, and only what policies of resources allow it. */
  readonly service?: CallingService;
}

export type SignatureVersion = "AWS4-HMAC-SHA256" | "AWS4-ECDSA-P256-SHA256" | "AWS";
export type AuthType = "REST-HEADER" | "REST-QUERY-STRING" | "POST";

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

/** What a federated user of an account is called, by its own name. */
export const federatedUserArn = (accountId: string, name: string): string =>
  `arn:aws:sts::${accountId}:federated-user/${name}`;

/**
 * A session of a role of an account, named as its ARN names it (an empty part of its path counts), whose permissions
 * are the role's policies.
 */
export const roleCaller = (
  accountId: string,
  role: string,
  session: string,
  policies: readonly string[],
  partition = "aws",
): Caller => {
  const slash = role.lastIndexOf("/");
  return {
    accountId,
    principalArn: `arn:${partition}:sts::${accountId}:assumed-role/${role.slice(slash + 1)}/${session}`,
    ...(slash === -1 ? {} : { rolePath: `/${role.slice(0, slash + 1)}` }),
    isRoot: false,
    isAnonymous: false,
    policies,
    issuer: "",
  };
};

/** A service in its own name. */
export const serviceCaller = (service: CallingService): Caller => ({
  accountId: "",
  principalArn: service.name,
  isRoot: false,
  isAnonymous: false,
  policies: noPolicies,
  issuer: "",
  service,
});

/** True for an account id: 12 digits. */
export const isAccountId = (text: string): boolean => /^[0-9]{12}$/.test(text);
