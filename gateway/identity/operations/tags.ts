import type { Message } from "@bufbuild/protobuf";

import type { Tag } from "../../../gen/quartet/identity/v1/tag_pb.ts";
import type { Context } from "../application.ts";
import type { AccountState, Change } from "../domain/account-state.ts";
import { withoutTags, withTags } from "../domain/entities.ts";
import { pageOf } from "./listing.ts";

/** Members of the requests about the tags of an entity. */
interface TagsRequest extends Message {
  readonly tags?: readonly Tag[];
  readonly tagKeys?: readonly string[];
}

/** An entity that has tags. */
interface Tagged {
  readonly name: string;
  readonly tags: Record<string, string>;
}

/** How the tags of one kind of entity are found. */
interface TaggedKind<Request> {
  readonly kind: "user" | "role" | "policy" | "identityProvider" | "instanceProfile";
  /** What the request names, for the pages of its tags. */
  nameOf(request: Request): string | undefined;
  /** The entity that is changed. Throws DECLARED_ENTITY and NO_SUCH_ENTITY. */
  getChangeable(context: Context, state: AccountState, request: Request): Tagged;
  /** The tags of an entity, also of a declared one. Throws NO_SUCH_ENTITY. */
  read(context: Context, request: Request): readonly Pick<Tag, "key" | "value">[];
}

/**
 * The three operations on the tags of one kind of entity. Those that change refuse, in this order: DECLARED_ENTITY,
 * NO_SUCH_ENTITY, INVALID_VALUE, LIMIT_EXCEEDED; the one that reads refuses NO_SUCH_ENTITY.
 */
export const tagOperations = <Request extends TagsRequest>({
  kind,
  nameOf,
  getChangeable,
  read,
}: TaggedKind<Request>) => {
  const change = (context: Context, request: Request, decide: (own: Record<string, string>) => Tagged["tags"]) =>
    context.app.identities.change(context.caller.accountId, (state) => {
      const entity = getChangeable(context, state, request);
      const record = { ...entity, tags: decide(entity.tags) };
      return { changes: [{ kind, name: entity.name.toLowerCase(), record } as unknown as Change], result: {} };
    });
  return {
    tag: async (request: Request, context: Context) =>
      change(context, request, (own) => withTags(own, request.tags ?? [])),
    untag: async (request: Request, context: Context) =>
      change(context, request, (own) => withoutTags(own, request.tagKeys ?? [])),
    list: async (request: Request, context: Context) => {
      const tags = read(context, request);
      const { items, ...page } = pageOf(context, request, tags, ({ key }) => key, [nameOf(request)]);
      return { tags: [...items], ...page };
    },
  };
};

/** Tags in order of their keys. */
export const tagList = (tags: Readonly<Record<string, string>>) =>
  Object.entries(tags)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => ({ key, value }));
