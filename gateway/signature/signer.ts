import type { AccessKey } from "../../services/kit/identity/access-keys.ts";
import { callerOf } from "../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";

let last: { readonly accessKey: AccessKey; readonly caller: Caller } | undefined;

/** The caller of a key: the same object while one key is used, so that what was made of it is found by its identity. */
export const signerOf = (accessKey: AccessKey): Caller => {
  if (last?.accessKey !== accessKey) last = { accessKey, caller: callerOf(accessKey) };
  return last.caller;
};
