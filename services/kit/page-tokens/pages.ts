import type { DescEnum, DescField, DescMethod, Message } from "@bufbuild/protobuf";
import { hasOption } from "@bufbuild/protobuf";

import { paginated } from "../../../gen/quartet/traits/v1/api_pb.ts";
import { FaultRole } from "../../../gen/quartet/traits/v1/fault_pb.ts";
import { fieldSpellings } from "../contract/spellings.ts";
import { faultTable, roleFault } from "../faults/service-error.ts";
import type { Caller } from "../identity/caller.ts";
import type { PageTokens } from "./page-tokens.ts";
import { readOption } from "../contract/options.ts";

/** How a service pages its listings. */
export interface PagesOptions {
  readonly tokens: PageTokens;
  /** The service's ErrorReason; its reason of role INVALID_PAGE_TOKEN refuses a token. */
  readonly errors: DescEnum;
  /** Items of a page when the request asks for no number. */
  readonly itemsDefault: number;
  /** Bytes after which a page ends, whatever the number of its items; a page has at least one item. */
  readonly bytesMax: number;
}

/** The call that a page belongs to, as far as its token is bound to it. */
export interface PageCall {
  readonly method: DescMethod;
  readonly caller: Pick<Caller, "accountId">;
}

/**
 * Opens the pages of a service's listings. The contract's `paginated` trait names the members that page each method.
 */
export interface Pages {
  /**
   * Reads the page members of a request. `filters` are all other members that decide what is listed, in a fixed order.
   * Throws the INVALID_PAGE_TOKEN reason for a token of another caller or listing, or one that is too old.
   */
  open(call: PageCall, request: Message, filters?: readonly (string | undefined)[]): Page;
}

/** The page that a request asks for. */
export interface Page {
  /** The position after which the page begins; undefined: at the beginning. */
  readonly after: string | undefined;
  readonly itemsMax: number;
  /** One more than the page holds, which shows whether there is another page. */
  readonly lookFor: number;
  /** The token of the page after a position. */
  tokenOf(position: string): string;
  /**
   * Cuts what was found, at most `lookFor` items, to the page; with a token if there is more. `bytesOf` is an item's
   * share of the page's bytes; unset: the page is limited by number only.
   */
  cut<Found>(
    found: readonly Found[],
    positionOf: (found: Found) => string,
    bytesOf?: (found: Found) => number,
  ): { readonly items: Found[]; readonly nextToken?: string };
}

/** Makes the pages of one service. */
export const createPages = ({ tokens, errors, itemsDefault, bytesMax }: PagesOptions): Pages => ({
  open(call, request, filters = []) {
    const { tokenField, sizeField } = pageMembersOf(call.method);
    const members = request as unknown as Readonly<Record<string, unknown>>;
    const binding = {
      caller: call.caller.accountId,
      operation: call.method.name,
      filters: filters.map((filter) => filter ?? ""),
    };
    const token = members[tokenField.localName] as string | undefined;
    const position = token === undefined ? undefined : tokens.open(binding, token);
    if (token !== undefined && position === undefined)
      throw roleFault(faultTable(errors), FaultRole.INVALID_PAGE_TOKEN, {
        member: fieldSpellings(tokenField).wireName,
      });
    const asked = sizeField && (members[sizeField.localName] as number | undefined);
    const itemsMax = asked ?? itemsDefault;
    const tokenOf = (after: string): string => tokens.seal(binding, after);
    return {
      after: position && Buffer.from(position).toString("utf8"),
      itemsMax,
      lookFor: itemsMax + 1,
      tokenOf,
      cut: (found, positionOf, bytesOf) => {
        const items = firstItems(found.slice(0, itemsMax), bytesMax, bytesOf);
        const last = items.at(-1);
        return last !== undefined && found.length > items.length
          ? { items, nextToken: tokenOf(positionOf(last)) }
          : { items };
      },
    };
  },
});

/** The items up to the one with which they would be too large together; at least one. */
const firstItems = <Found>(found: Found[], bytesMax: number, bytesOf?: (found: Found) => number): Found[] => {
  if (bytesOf === undefined) return found;
  let bytes = 0;
  const end = found.findIndex((item, index) => (bytes += bytesOf(item)) > bytesMax && index > 0);
  return end === -1 ? found : found.slice(0, end);
};

interface PageMembers {
  readonly tokenField: DescField;
  readonly sizeField: DescField | undefined;
}

const pageMembers = new WeakMap<DescMethod, PageMembers>();

/** The members that page a method, read once. Throws when the contract declares none. */
const pageMembersOf = (method: DescMethod): PageMembers => {
  let members = pageMembers.get(method);
  if (members === undefined) {
    if (!hasOption(method, paginated)) throw new Error(`${method.name} is not declared as paginated`);
    const { inputToken, pageSize } = readOption(method, paginated);
    const fieldOf = (name: string) => method.input.fields.find((field) => field.name === name);
    const tokenField = fieldOf(inputToken);
    if (tokenField === undefined) throw new Error(`${method.name} has no member ${inputToken}`);
    members = { tokenField, sizeField: fieldOf(pageSize) };
    pageMembers.set(method, members);
  }
  return members;
};
