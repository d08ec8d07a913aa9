import { createHash } from "node:crypto";

import { occupiedPaths } from "./source-path.ts";

/**
 * The proxy's id of each path that a route occupies: ten characters of 0-9a-z, derived from application and path, so
 * that routes with a common path share its id.
 */
export const pathResourceIds = (
  applicationId: string,
  match: { readonly sourcePath: string; readonly includeChildPaths: boolean },
): Record<string, string> =>
  Object.fromEntries(
    occupiedPaths(match.sourcePath, match.includeChildPaths).map((path) => [path, pathId(`${applicationId} ${path}`)]),
  );

const pathId = (text: string): string =>
  createHash("sha256").update(text).digest().readBigUInt64BE().toString(36).padStart(13, "0").slice(-10);
