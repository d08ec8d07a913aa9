/** The source of the names of accounts. */
export interface AccountNames {
  /** The canonical id of an account. */
  readonly canonicalUserId: (accountId: string) => string;
  /** The declared accounts. */
  readonly accounts: { list(): readonly { readonly id: string; readonly name: string | undefined }[] };
}

/** The id by which public clouds name who did not sign. */
export const anonymousUserId = "65a011a29cdf8ec533ec3d1ccaae921c";

/** An account in the form in which responses name an owner: by its declared name, else by its 12 digits. */
export const ownerOf = ({ canonicalUserId, accounts }: AccountNames, accountId: string) => ({
  id: canonicalUserId(accountId),
  displayName: accounts.list().find(({ id }) => id === accountId)?.name ?? accountId,
});
