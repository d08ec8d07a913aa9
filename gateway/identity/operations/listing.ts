import type { Message } from "@bufbuild/protobuf";

import type { Context } from "../application.ts";

/** One page of entities, as listings answer it. */
interface ListedPage<T> {
  readonly items: readonly T[];
  readonly isTruncated: boolean;
  readonly marker?: string;
}

/**
 * Cuts entities to the page that a request asks for, in order of their names whatever their case. `bytesOf` is what
 * one adds to a page where they may be large.
 */
export const pageOf = <T>(
  { app, method, caller }: Context,
  request: Message,
  all: readonly T[],
  nameOf: (entity: T) => string,
  filters: readonly (string | undefined)[] = [],
  bytesOf?: (entity: T) => number,
): ListedPage<T> => {
  const page = app.pages.open({ method, caller }, request, filters);
  const positionOf = (entity: T): string => nameOf(entity).toLowerCase();
  const found = all
    .toSorted((a, b) => compare(positionOf(a), positionOf(b)))
    .filter((entity) => page.after === undefined || positionOf(entity) > page.after)
    .slice(0, page.lookFor);
  const { items, nextToken } = page.cut(found, positionOf, bytesOf);
  return { items, isTruncated: nextToken !== undefined, ...(nextToken === undefined ? {} : { marker: nextToken }) };
};

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
