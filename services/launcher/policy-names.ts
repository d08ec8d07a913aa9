import type { ServiceNames } from "../kit/policy/spelling.ts";
import type { ServiceName } from "./processes.ts";

/** A service's names, and the resource of its actions that have none where it is not `*`. */
export interface PolicyNames extends ServiceNames {
  readonly everything?: string;
}

/** The names of the services in policies, for what decides without a service. */
export const policyNames: Readonly<Record<ServiceName, PolicyNames>> = {
  "customer-profile": { public: "profile", documented: "customer-profile" },
  "refactoring-workspace": { public: "refactor-spaces", documented: "refactoring-workspace" },
  "event-bus": { public: "events", documented: "event-bus" },
  "object-storage": { public: "s3", documented: "object-storage", everything: "arn:aws:s3:::*" },
};
