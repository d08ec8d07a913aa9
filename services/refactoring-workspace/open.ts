import type { LookupAddress } from "node:dns";

import type { ApplicationRecord } from "../../gen/quartet/refactoringworkspace/storage/v1/records_pb.ts";
import { ErrorReasonSchema } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import type { Accounts } from "../kit/accounts/accounts.ts";
import type { Clock } from "../kit/clock/clock.ts";
import type { Address } from "../kit/config/config.ts";
import { TrustedProxies } from "../kit/identity/trusted-proxies.ts";
import type { Ids } from "../kit/ids/ids.ts";
import type { Jobs } from "../kit/jobs/jobs.ts";
import { createJobs, jobTables } from "../kit/jobs/jobs.ts";
import type { Logger } from "../kit/log/log.ts";
import { createAddressGuard } from "../kit/network/address-guard.ts";
import { systemLookup } from "../kit/network/fair-lookup.ts";
import { createHttpSender, defaultSenderLimits } from "../kit/outgoing/http-sender.ts";
import { ServiceClient } from "../kit/outgoing/service-client.ts";
import type { Metrics } from "../kit/metrics/metrics.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import { createPages } from "../kit/page-tokens/pages.ts";
import { runPeriodically } from "../kit/periodic/periodic.ts";
import type { Store } from "../kit/store/store.ts";
import type { TlsSource } from "../kit/tls/tls-files.ts";
import type { Application } from "./application.ts";
import type { ArnPrefix } from "./domain/resource-name.ts";
import type { Fabric } from "./fabric/fabric.ts";
import { localFabric } from "./fabric/local-fabric.ts";
import type { HealthLimits } from "./health/health-check.ts";
import { checkHealth } from "./health/health-check.ts";
import { limits } from "./limits.ts";
import { FunctionApi } from "./proxy/function-api.ts";
import { FunctionCaller } from "./proxy/function-caller.ts";
import { directNetwork, ServiceNetwork } from "./proxy/service-network.ts";
import { announceApplications, readPlan } from "./proxy/plans.ts";
import type { ProxyLimits } from "./proxy/proxy-limits.ts";
import { defaultProxyLimits } from "./proxy/proxy-limits.ts";
import type { RunningProxy } from "./proxy/proxy-server.ts";
import { startProxy } from "./proxy/proxy-server.ts";
import { ProxiedApplications } from "./proxy/proxied-applications.ts";
import { ProxiedRequests } from "./proxy/proxied-requests.ts";
import type { UpstreamLimits } from "./proxy/upstreams.ts";
import { defaultUpstreamLimits, Upstreams } from "./proxy/upstreams.ts";
import { jobTablesBase, pageTokenKeys } from "./store/layout.ts";
import { fabricReleaseKind, fabricReleasePolicy, FabricReleases } from "./work/fabric-release.ts";
import { functionPermissionKind, functionPermissionPolicy, FunctionPermissions } from "./work/function-permissions.ts";
import { jobPools, placeOfOwner } from "./work/job-pools.ts";
import { routeCheckKind, RouteChecks } from "./work/route-checks.ts";
import { sweepExpiredTokens } from "./work/token-sweep.ts";

/** The parts that the service is opened from. */
export interface RefactoringWorkspaceOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** The organizations of accounts. Unset: no account has one. */
  readonly accounts?: Pick<Accounts, "findOrganizationId">;
  /** The ARNs in answers begin with it. */
  readonly arnPrefix: ArnPrefix;
  readonly proxyListen: Address;
  /** The certificate of the proxy's port. Unset: it serves plain HTTP. */
  readonly proxyCertificate?: TlsSource | undefined;
  /** The proxies before the workspace's own that say who their clients are. Unset: none. */
  readonly trustedProxies?: TrustedProxies;
  /** Base of the proxy URLs in answers; empty: the address on which the proxy listens. */
  readonly proxyUrl: string;
  /** Whether services may have private addresses. */
  readonly allowsPrivateTargets: boolean;
  /** PEM texts of the authorities that are trusted for every service. Unset: the public ones that Node ships. */
  readonly publicAuthorities?: readonly string[];
  /** Private authorities by the domain to which each belongs. Unset: none. */
  readonly privateAuthorities?: ReadonlyMap<string, TlsSource>;
  /** URLs of HTTP proxies that are private links, by `<account>/<VPC>` of applications. Unset: none. */
  readonly privateLinks?: Readonly<Record<string, string>>;
  /** URL of the HTTP proxy through which public addresses are reached; empty or unset: directly. */
  readonly egressProxy?: string;
  /** Base address of the Invoke API; empty: no functions are called. */
  readonly functionsUrl: string;
  /** The access key with which calls of that API are signed. Unset, or with an empty id: they are not signed. */
  readonly functionsKey?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** How names are resolved to addresses. Unset: by the machine's resolver. */
  readonly resolve?: (hostname: string) => Promise<LookupAddress[]>;
  /** Provisions the network around applications. Unset: the fabric of one machine, which has only names. */
  readonly fabric?: Fabric;
  /** Receives the metrics of the proxy. Unset: nothing is counted. */
  readonly metrics?: Metrics;
  readonly proxyLimits?: Partial<ProxyLimits>;
  readonly upstreamLimits?: Partial<UpstreamLimits>;
  readonly healthLimits?: Partial<HealthLimits>;
}

/** The service without its server: its operations' dependencies, and the proxy. */
export interface OpenRefactoringWorkspace {
  readonly app: Application;
  readonly jobs: Jobs;
  readonly proxy: RunningProxy;
  /**
   * Ends the proxy and background work; running requests and checks may finish within the time, in milliseconds (unset:
   * 0). Unfinished checks continue after the next start. The store stays open.
   */
  stop(graceMs?: number): Promise<void>;
}

/** Opens the service: reads all routes, starts the proxy, and continues the checks of unsettled routes. */
export const openRefactoringWorkspace = async (
  options: RefactoringWorkspaceOptions,
): Promise<OpenRefactoringWorkspace> => {
  const { store, clock, ids, log, arnPrefix } = options;
  const key = await pageTokenKey(store, pageTokenKeys, log);
  const pages = createPages({
    tokens: createPageTokens({ key, clock, lifetimeMs: limits.pageTokenLifetimeMs }),
    errors: ErrorReasonSchema,
    itemsDefault: limits.pageItemsDefault,
    bytesMax: limits.pageBytesMax,
  });
  const { resolve = systemLookup, publicAuthorities, privateAuthorities, privateLinks = {} } = options;
  const network = new ServiceNetwork({
    allowsPrivate: options.allowsPrivateTargets,
    egressProxy: options.egressProxy || undefined,
    resolve,
    publicAuthorities,
    privateAuthorities,
    log,
  });
  const upstreams = new Upstreams(network, clock, upstreamLimitsOf(options));
  const proxyLimits = { ...defaultProxyLimits, ...options.proxyLimits };
  const functions = openFunctions(options, proxyLimits);
  const findPrivateLink = ({ ownerAccountId, vpcId }: ApplicationRecord) => privateLinks[`${ownerAccountId}/${vpcId}`];
  const proxiedApplications = new ProxiedApplications((environmentId, applicationId) =>
    readPlan(store, findPrivateLink, environmentId, applicationId),
  );
  const health = { network, functions: functions.api, limits: options.healthLimits };
  const functionPermissions = new FunctionPermissions({
    functions: functions.api,
    prefix: arnPrefix,
    enqueue: (transaction, job) => jobs.enqueue(transaction, job),
  });
  const routeChecks = new RouteChecks({
    store,
    clock,
    findPrivateLink,
    permissions: functionPermissions,
    permit: (permission, signal) => functions.api.permit(permission, signal),
    check: (endpoint, signal) => checkHealth(endpoint, health, signal),
    enqueue: (transaction, job) => jobs.enqueue(transaction, job),
    onChange: (name) => proxiedApplications.refresh(name),
  });
  const fabric = options.fabric ?? localFabric(ids, arnPrefix);
  const fabricReleases = new FabricReleases({
    store,
    clock,
    fabric,
    enqueue: (transaction, job) => jobs.enqueue(transaction, job),
    cancel: (transaction, jobId) => jobs.cancel(transaction, jobId),
  });
  const jobs = createJobs({
    store,
    tables: jobTables(jobTablesBase),
    clock,
    ids,
    log,
    handlers: {
      [routeCheckKind]: routeChecks.run,
      [fabricReleaseKind]: fabricReleases.run,
      [functionPermissionKind]: functionPermissions.run,
    },
    policy: {
      [routeCheckKind]: routeChecks.policy,
      [fabricReleaseKind]: fabricReleasePolicy,
      [functionPermissionKind]: functionPermissionPolicy,
    },
    pools: jobPools,
    placeOf: placeOfOwner,
  });

  await announceApplications(proxiedApplications, { store, findPrivateLink, log });
  const proxy = await startProxy({
    listen: options.proxyListen,
    certificate: options.proxyCertificate,
    routes: proxiedApplications,
    upstreams,
    functions: functions.caller,
    trustedProxies: options.trustedProxies ?? new TrustedProxies(),
    requests: new ProxiedRequests(log, options.metrics),
    ids,
    log,
    limits: proxyLimits,
  });
  if (options.metrics !== undefined) proxyMetrics(options.metrics, proxy);
  jobs.start();
  const stopSweep = runPeriodically({
    clock,
    log,
    intervalMs: limits.clientTokenSweepMs,
    tasks: { sweepExpiredTokens: (signal) => sweepExpiredTokens(store, clock, signal) },
  });
  const proxyUrl = options.proxyUrl === "" ? proxy.url : options.proxyUrl.replace(/\/+$/, "");

  return {
    app: {
      store,
      clock,
      ids,
      pages,
      jobs,
      fabric,
      fabricReleases,
      functionPermissions,
      accounts: options.accounts,
      arnPrefix,
      proxyUrl,
      proxiedApplications,
      routeChecks,
    },
    jobs,
    proxy,
    async stop(graceMs = 0) {
      await Promise.all([stopSweep(), proxy.stop(graceMs), jobs.stop(graceMs)]);
      await Promise.all([upstreams.close(), functions.close()]);
    },
  };
};

const proxyMetrics = (metrics: Metrics, proxy: Pick<RunningProxy, "stats">): void => {
  metrics.add({
    name: "proxied_in_flight",
    help: "Requests for applications, and their tunnels, that are under way.",
    type: "gauge",
    read: () => [{ labels: {}, value: proxy.stats().running }],
  });
  metrics.add({
    name: "proxied_tunnels",
    help: "Tunnels to services that are open.",
    type: "gauge",
    read: () => [{ labels: {}, value: proxy.stats().tunnels }],
  });
};

/** The ways to functions: the API with their policies, and the calls of the proxy. */
const openFunctions = (options: RefactoringWorkspaceOptions, proxyLimits: ProxyLimits) => {
  const { clock, functionsUrl, functionsKey = { accessKeyId: "", secretAccessKey: "" } } = options;
  const { region } = options.arnPrefix;
  const endpoint = functionsUrl === "" ? undefined : { ...functionsKey, url: functionsUrl, region };
  // The operator chose the address of functions, so the rules for services do not hold for it.
  const sender = createHttpSender(createAddressGuard(true), defaultSenderLimits);
  const upstreams = new Upstreams(directNetwork(options.resolve ?? systemLookup), clock, upstreamLimitsOf(options));
  return {
    api: new FunctionApi({ endpoint, client: new ServiceClient(sender, clock) }),
    caller: new FunctionCaller({
      endpoint,
      upstreams,
      clock,
      bytesMax: proxyLimits.functionBytesMax,
      callsMax: proxyLimits.functionCallsMax,
      callMsMax: proxyLimits.functionCallMs,
      stallMsMax: proxyLimits.clientStallMs,
    }),
    close: () => Promise.all([upstreams.close(), sender.close()]),
  };
};

const upstreamLimitsOf = ({ upstreamLimits }: RefactoringWorkspaceOptions): UpstreamLimits => ({
  ...defaultUpstreamLimits,
  ...upstreamLimits,
});
