import type { LookupAddress } from "node:dns";

import type { Clock } from "../kit/clock/clock.ts";
import type { Address } from "../kit/config/config.ts";
import type { Ids } from "../kit/ids/ids.ts";
import { createJobs, jobTables } from "../kit/jobs/jobs.ts";
import type { Logger } from "../kit/log/log.ts";
import { createPageTokens, pageTokenKey } from "../kit/page-tokens/page-tokens.ts";
import type { Store } from "../kit/store/store.ts";
import type { Application } from "./application.ts";
import type { NameWords } from "./domain/resource-name.ts";
import { localFabric } from "./fabric/local-fabric.ts";
import type { HealthLimits } from "./health/health-check.ts";
import { checkHealth } from "./health/health-check.ts";
import { routeCheckKind, RouteChecks } from "./work/route-checks.ts";
import { limits } from "./limits.ts";
import { startTokenSweep } from "./work/token-sweep.ts";
import { readAllPlans, readPlan } from "./proxy/plans.ts";
import { systemResolve } from "./proxy/addresses.ts";
import { FunctionCaller } from "./proxy/function-caller.ts";
import type { ProxyLimits, RunningProxy } from "./proxy/proxy-server.ts";
import { startProxy } from "./proxy/proxy-server.ts";
import { RouteTable } from "./proxy/route-table.ts";
import type { UpstreamLimits } from "./proxy/upstreams.ts";
import { defaultUpstreamLimits, Upstreams } from "./proxy/upstreams.ts";
import { jobTablesBase, pageTokenKeys } from "./store/layout.ts";

/** What a workspace is built from. */
export interface WorkspaceOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly nameWords: NameWords;
  readonly proxyListen: Address;
  /** Base of the proxy URLs in answers; empty: where the proxy listens. */
  readonly proxyUrl: string;
  /** Whether services may stand at private addresses. */
  readonly allowsPrivateTargets: boolean;
  /** Base address of the Invoke API; empty: no functions are called. */
  readonly functionsUrl: string;
  /** How names become addresses. Unset: as the machine does it. */
  readonly resolve?: (hostname: string) => Promise<LookupAddress[]>;
  readonly proxyLimits?: Partial<ProxyLimits>;
  readonly upstreamLimits?: Partial<UpstreamLimits>;
  readonly healthLimits?: Partial<HealthLimits>;
}

/** The service's own part of its process: what the operations work with, and the proxy. */
export interface Workspace {
  readonly app: Application;
  readonly proxy: RunningProxy;
  /** Waits until no health check is due or runs. */
  idle(): Promise<void>;
  /** Lets running requests and checks end within the time, in milliseconds; what was not finished goes on after the next start. */
  stop(graceMs?: number): Promise<void>;
}

/** Opens the workspace over its store: reads all routes, starts the proxy, and goes on with unsettled routes. */
export const openWorkspace = async (options: WorkspaceOptions): Promise<Workspace> => {
  const { store, clock, ids, log } = options;
  const pageTokens = createPageTokens({
    key: await pageTokenKey(store, pageTokenKeys),
    clock,
    lifetimeMs: limits.pageTokenLifetimeMs,
  });
  const addresses = { allowsPrivate: options.allowsPrivateTargets, resolve: options.resolve ?? systemResolve };
  const upstreams = new Upstreams(addresses, clock, { ...defaultUpstreamLimits, ...options.upstreamLimits });
  const functions = new FunctionCaller({ address: options.functionsUrl || undefined, upstreams, clock });
  const routeTable = new RouteTable((environmentId, applicationId) => readPlan(store, environmentId, applicationId));
  const health = { addresses, upstreams, functions, limits: options.healthLimits };
  const routeChecks = new RouteChecks({
    store,
    clock,
    check: (endpoint, signal) => checkHealth(endpoint, health, signal),
    enqueue: (transaction, job) => jobs.enqueue(transaction, job),
    onChange: (name) => routeTable.refresh(name),
  });
  const jobs = createJobs({
    store,
    tables: jobTables(jobTablesBase),
    clock,
    ids,
    log,
    handlers: { [routeCheckKind]: routeChecks.run },
    policy: { [routeCheckKind]: routeChecks.policy },
  });

  for await (const plan of readAllPlans(store)) routeTable.put(plan);
  const proxy = await startProxy({
    listen: options.proxyListen,
    routes: routeTable,
    upstreams,
    functions,
    ids,
    log,
    limits: options.proxyLimits,
  });
  jobs.start();
  const stopSweep = startTokenSweep(store, clock, log);
  const fabric = localFabric(ids, options.nameWords);
  const proxyUrl = options.proxyUrl === "" ? proxy.url : options.proxyUrl.replace(/\/+$/, "");
  return {
    app: {
      store,
      clock,
      ids,
      pageTokens,
      jobs,
      fabric,
      nameWords: options.nameWords,
      proxyUrl,
      routeTable,
      routeChecks,
    },
    proxy,
    idle: () => jobs.idle(),
    stop: async (graceMs = 0) => {
      stopSweep();
      await Promise.all([proxy.stop(graceMs), jobs.stop(graceMs)]);
      await upstreams.close();
    },
  };
};
