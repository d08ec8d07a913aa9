import { ObjectStorageService } from "../../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { isCallCondition } from "../../kit/access/call-conditions.ts";
import { methodPermissions } from "../../kit/contract/permissions.ts";
import type { Policy } from "../../kit/policy/document.ts";
import { rules } from "./rules.ts";
import { isServiceKey } from "./service-keys.ts";

/** The actions, in lower case and less their prefix, whose requests have a member with a condition key. */
const actionsByKey = (): ReadonlyMap<string, ReadonlySet<string>> => {
  if (knownActions !== undefined) return knownActions;
  const found = new Map<string, Set<string>>();
  for (const { permissions, conditions } of ObjectStorageService.methods.map(methodPermissions))
    for (const { key } of conditions) {
      const spelled = spelledKey(`${rules.names.public}:${key}`);
      const actions = found.get(spelled) ?? new Set();
      found.set(spelled, actions);
      for (const { action } of permissions) actions.add(action.toLowerCase());
    }
  knownActions = found;
  return found;
};
let knownActions: ReadonlyMap<string, ReadonlySet<string>> | undefined;

const spelledKey = (written: string): string => rules.spelling.key(written).toLowerCase();

const isGeneralKey = (key: string): boolean => isServiceKey(key) || isCallCondition(key, rules.names);

/** Whether each condition of a policy is on a key that some request to this service can have. */
export const hasKnownKeys = ({ statements }: Policy): boolean =>
  statements.every(({ conditions }) =>
    conditions.every(({ key: written }) => {
      const key = spelledKey(written);
      return isGeneralKey(key) || actionsByKey().has(key);
    }),
  );

/** Whether the request of one of the actions, in lower case and less their prefix, can have a known condition key. */
export const canHaveKey = (actions: readonly string[], written: string): boolean => {
  const key = spelledKey(written);
  return isGeneralKey(key) || actions.some((action) => actionsByKey().get(key)?.has(action) === true);
};
