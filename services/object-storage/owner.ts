import type { Application } from "./application.ts";

/** An account as answers name the owner of what they show. */
export const ownerOf = ({ canonicalUserId }: Pick<Application, "canonicalUserId">, accountId: string) => ({
  id: canonicalUserId(accountId),
  displayName: accountId,
});
