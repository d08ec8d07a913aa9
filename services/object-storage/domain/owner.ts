/** The source of canonical user ids. */
export interface CanonicalUserIds {
  /** The canonical id of an account. */
  readonly canonicalUserId: (accountId: string) => string;
}

/** An account in the form in which responses name an owner. */
export const ownerOf = ({ canonicalUserId }: CanonicalUserIds, accountId: string) => ({
  id: canonicalUserId(accountId),
  displayName: accountId,
});
