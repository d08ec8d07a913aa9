/** The source of canonical user ids. */
export interface CanonicalUserIds {
  /** The canonical id of an account. */
  readonly canonicalUserId: (accountId: string) => string;
}

/** The id by which public clouds name who did not sign. */
export const anonymousUserId = "65a011a29cdf8ec533ec3d1ccaae921c";

/** An account in the form in which responses name an owner. */
export const ownerOf = ({ canonicalUserId }: CanonicalUserIds, accountId: string) => ({
  id: canonicalUserId(accountId),
  displayName: accountId,
});
