import type { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import type { Accounts } from "../kit/accounts/accounts.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import type { Pages } from "../kit/page-tokens/pages.ts";
import type { CallContext, UnaryHandler } from "../kit/server/handlers.ts";
import type { Store } from "../kit/store/store.ts";
import type { Access } from "./access/access.ts";
import type { ArnPrefix } from "./domain/resource-name.ts";
import type { Fabric } from "./fabric/fabric.ts";
import type { ProxiedApplications } from "./proxy/proxied-applications.ts";
import type { FabricReleases } from "./work/fabric-release.ts";
import type { FunctionPermissions } from "./work/function-permissions.ts";
import type { RouteChecks } from "./work/route-checks.ts";

/** The dependencies of the operations. */
export interface Application {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly pages: Pages;
  readonly jobs: Jobs;
  readonly fabric: Fabric;
  readonly fabricReleases: FabricReleases;
  readonly functionPermissions: FunctionPermissions;
  /** The organizations of accounts. Unset: no account has one. */
  readonly accounts?: Pick<Accounts, "findOrganizationId"> | undefined;
  /** The ARNs in answers begin with it. */
  readonly arnPrefix: ArnPrefix;
  /** Base of the proxy URLs in answers, without a slash at the end. */
  readonly proxyUrl: string;
  /** Must be notified of every change that concerns the proxy. */
  readonly proxiedApplications: ProxiedApplications;
  readonly routeChecks: RouteChecks;
}

/** A call that passed the guard. */
export type OperationContext = CallContext<Application, Access>;

/** The handler of one operation. */
export type Operation<Name extends keyof (typeof RefactoringWorkspaceService)["method"]> = UnaryHandler<
  (typeof RefactoringWorkspaceService)["method"][Name],
  Application,
  Access
>;
