import type { LookupAddress } from "node:dns";

import type { Client } from "@connectrpc/connect";

import { ProxyType } from "../../gen/quartet/refactoringworkspace/v1/application_pb.ts";
import { NetworkFabricType } from "../../gen/quartet/refactoringworkspace/v1/environment_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { RouteActivationState, RouteState, RouteType } from "../../gen/quartet/refactoringworkspace/v1/route_pb.ts";
import { ServiceEndpointType } from "../../gen/quartet/refactoringworkspace/v1/service_pb.ts";
import type { Store } from "../../services/kit/store/store.ts";
import { handlers } from "../../services/refactoring-workspace/service.ts";
import type {
  OpenRefactoringWorkspace,
  RefactoringWorkspaceOptions,
} from "../../services/refactoring-workspace/open.ts";
import { openRefactoringWorkspace } from "../../services/refactoring-workspace/open.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { ownerAccount, startServiceHarness } from "../support/service-harness.ts";

export { refusalOf } from "../support/refusal.ts";
export { ownerAccount } from "../support/service-harness.ts";

export type WorkspaceClient = Client<typeof RefactoringWorkspaceService>;

/** The service and its proxy over a real store and real sockets, with a clock that stands still. */
export interface Harness {
  readonly directory: string;
  readonly clock: FakeClock;
  readonly workspace: OpenRefactoringWorkspace;
  readonly store: Store;
  /** The owner account's calls. */
  readonly client: WorkspaceClient;
  /** Calls of another account; an empty text: of nobody. */
  readonly clientOf: (accountId: string) => WorkspaceClient;
  readonly stop: () => Promise<void>;
}

export interface HarnessOptions extends Partial<
  Pick<
    RefactoringWorkspaceOptions,
    | "allowsPrivateTargets"
    | "fabric"
    | "functionsUrl"
    | "functionsKey"
    | "healthLimits"
    | "upstreamLimits"
    | "proxyLimits"
    | "publicAuthorities"
    | "privateAuthorities"
    | "privateLinks"
    | "egressProxy"
    | "trustedProxies"
    | "proxyCertificate"
    | "metrics"
    | "log"
  >
> {
  /** Unset: a new one that is removed when the test ends. */
  readonly directory?: string;
  readonly clock?: FakeClock;
  readonly resolve?: (hostname: string) => Promise<LookupAddress[]>;
}

/** Starts the service; it is stopped when the test ends. */
export const startHarness = async (options: HarnessOptions = {}): Promise<Harness> => {
  const { directory, clock = new FakeClock(), ...workspaceOptions } = options;
  const harness = await startServiceHarness({
    service: RefactoringWorkspaceService,
    handlers,
    errors: ErrorReasonSchema,
    clock,
    directory,
    log: options.log,
    open: (parts) =>
      openRefactoringWorkspace({
        allowsPrivateTargets: true,
        functionsUrl: "",
        healthLimits: { intervalMs: 1 },
        ...parts,
        ...workspaceOptions,
        arnPrefix: { partition: "aws", service: "refactor-spaces", region: "us-east-1" },
        proxyListen: { host: "127.0.0.1", port: 0 },
        proxyUrl: "",
      }),
  });
  return { ...harness, clock, workspace: harness.opened, client: harness.clientOf(ownerAccount) };
};

/** Makes an environment; answers its id. */
export const makeEnvironment = async (client: WorkspaceClient): Promise<string> => {
  const { environmentId } = await client.createEnvironment({
    name: "shop move",
    networkFabricType: NetworkFabricType.NONE,
  });
  return environmentId;
};

/** How requests name an application. */
export interface Place {
  readonly environmentIdentifier: string;
  readonly applicationIdentifier: string;
}

/** Makes an environment with an application. */
export const makeApplication = async (client: WorkspaceClient, stageName?: string): Promise<Place> => {
  const environmentIdentifier = await makeEnvironment(client);
  const { applicationId } = await client.createApplication({
    environmentIdentifier,
    name: "shop",
    proxyType: ProxyType.API_GATEWAY,
    vpcId: "vpc-0a1b2c3d",
    ...(stageName === undefined ? {} : { apiGatewayProxy: { stageName } }),
  });
  return { environmentIdentifier, applicationIdentifier: applicationId };
};

/** Makes a service at a URL; answers its id. */
export const makeService = async (client: WorkspaceClient, place: Place, url: string): Promise<string> => {
  const endpoint = { endpointType: ServiceEndpointType.URL, urlEndpoint: { url } };
  const { serviceId } = await client.createService({ ...place, name: "monolith", ...endpoint });
  return serviceId;
};

/** Makes the default route to a service, inactive unless asked; answers its id. */
export const makeDefaultRoute = async (
  client: WorkspaceClient,
  place: Place,
  serviceIdentifier: string,
  activationState: RouteActivationState = RouteActivationState.ACTIVE,
): Promise<string> => {
  const { routeId, state } = await client.createRoute({
    ...place,
    serviceIdentifier,
    routeType: RouteType.DEFAULT,
    defaultRoute: { activationState },
  });
  const expected = activationState === RouteActivationState.ACTIVE ? RouteState.ACTIVE : RouteState.INACTIVE;
  if (state !== expected) throw new Error(`the default route is in state ${state}`);
  return routeId;
};

/** A route by path that is to be active, unless something else is asked. */
export const pathRoute = (place: Place, serviceIdentifier: string, sourcePath: string, more: object = {}) => ({
  ...place,
  serviceIdentifier,
  routeType: RouteType.URI_PATH,
  uriPathRoute: { sourcePath, activationState: RouteActivationState.ACTIVE, ...more },
});

/** The address of an application's proxy. */
export const proxyUrlOf = async (client: WorkspaceClient, place: Place): Promise<string> =>
  (await client.getApplication(place)).apiGatewayProxy?.proxyUrl ?? "";
