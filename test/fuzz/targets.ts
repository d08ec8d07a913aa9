import type { FuzzTarget } from "./target.ts";
import { accessTargets } from "./targets/access.ts";
import { claimTargets } from "./targets/claims.ts";
import { documentTargets } from "./targets/documents.ts";
import { eventTargets } from "./targets/events.ts";
import { globTargets } from "./targets/globs.ts";
import { httpTargets } from "./targets/http.ts";
import { recordTargets } from "./targets/records.ts";
import { rpcTargets } from "./targets/rpc.ts";
import { selectTargets } from "./targets/select.ts";

/** Every parser that meets bytes of somebody else. */
export const targets: readonly FuzzTarget[] = [
  ...httpTargets,
  ...documentTargets,
  ...eventTargets,
  ...accessTargets,
  ...rpcTargets,
  ...claimTargets,
  ...selectTargets,
  ...globTargets,
  ...recordTargets,
];
