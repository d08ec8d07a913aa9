import type { ServiceNames } from "../kit/policy/spelling.ts";
import type { ServiceName } from "./processes.ts";

/** The names of the services in policies, for tools that decide without a service. */
export const policyNames: Readonly<Record<ServiceName, ServiceNames>> = {
  "customer-profile": { public: "profile", documented: "customer-profile" },
  "refactoring-workspace": { public: "refactor-spaces", documented: "refactoring-workspace" },
  "event-bus": { public: "events", documented: "event-bus" },
  "object-storage": { public: "s3", documented: "object-storage" },
};
