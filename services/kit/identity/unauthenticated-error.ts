/** Why a caller's token was not accepted. */
type UnauthenticatedReason = "missing" | "malformed" | "untrusted" | "audience" | "expired" | "unresolved";

const messages: Record<UnauthenticatedReason, string> = {
  missing: "The call carries no authorization.",
  malformed: "The authorization is not a well-formed bearer token.",
  untrusted: "The bearer token was not issued by a trusted process.",
  audience: "The bearer token is for other services.",
  expired: "The bearer token has expired.",
  unresolved: "The bearer token refers to identity policies that are not declared here.",
};

/** The caller could not be authenticated. Neither the message nor the cause contains the token. */
export class UnauthenticatedError extends Error {
  override readonly name = "UnauthenticatedError";
  readonly reason: UnauthenticatedReason;

  constructor(reason: UnauthenticatedReason) {
    super(messages[reason]);
    this.reason = reason;
  }
}

/** The token names a known key and was not signed with it, which no caller does by mistake, and which costs time. */
export class ForgedTokenError extends UnauthenticatedError {
  constructor() {
    super("untrusted");
  }
}
