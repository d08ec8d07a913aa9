import type { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { arn } from "../kit/arn/arn.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import type { PageTokens } from "../kit/page-tokens/page-tokens.ts";
import type { UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { NamedResource, NameWords } from "./domain/resource-name.ts";
import { formatResourceName } from "./domain/resource-name.ts";
import type { Fabric } from "./fabric/fabric.ts";
import type { RouteChecks } from "./work/route-checks.ts";
import type { RouteTable } from "./proxy/route-table.ts";

/** What the operations of this service work with. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly pageTokens: PageTokens;
  readonly jobs: Jobs;
  readonly fabric: Fabric;
  /** The words of the ARNs in answers. */
  readonly nameWords: NameWords;
  /** Base of the proxy URLs in answers, without a slash at the end. */
  readonly proxyUrl: string;
  /** Told of every change that the proxy must know. */
  readonly routeTable: RouteTable;
  readonly routeChecks: RouteChecks;
}

/** The handler of one operation. */
export type Operation<Name extends keyof (typeof RefactoringWorkspaceService)["method"]> = UnaryHandler<
  (typeof RefactoringWorkspaceService)["method"][Name],
  Application
>;

/** The ARN of a resource of an account. */
export const arnOf = (app: Application, account: string, resource: NamedResource): string =>
  arn({ ...app.nameWords, account, resource: formatResourceName(resource) });
