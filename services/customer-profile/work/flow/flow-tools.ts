import type { RoleDirectory } from "../../../kit/accounts/assume-role.ts";
import type { Logger } from "../../../kit/log/log.ts";
import type { Application } from "../../application.ts";
import type { BucketSource } from "../../sources/bucket-source.ts";
import type { FlowCounters } from "./flow-metrics.ts";

/** What flows are carried out with. */
export interface FlowTools {
  readonly app: Application;
  readonly log: Logger;
  readonly source: BucketSource;
  /** Unset: there are no roles. */
  readonly roles: RoleDirectory | undefined;
  readonly counters: FlowCounters;
  /** Whether nothing that takes up room may be stored now. */
  readonly isDiskLow: () => boolean;
}

/** The flow of an integration as it was put. */
export interface FlowPlace {
  readonly domainId: Uint8Array;
  readonly uri: string;
  readonly generation: Uint8Array;
}
