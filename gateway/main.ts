import { joinAccessKeys } from "../services/kit/accounts/joined-access-keys.ts";
import { openAccessKeyFile } from "../services/kit/identity/access-key-file.ts";
import { ensureKeyPair } from "../services/kit/identity/key-files.ts";
import { createMinter } from "../services/kit/identity/tokens.ts";
import { TrustedProxies } from "../services/kit/identity/trusted-proxies.ts";
import { runTask, takeTask } from "../services/kit/backup/run-task.ts";
import { systemClock } from "../services/kit/clock/clock.ts";
import { serviceApi } from "../services/kit/contract/contract.ts";
import { watchHealth } from "../services/kit/client/service-health.ts";
import { fetchPage } from "../services/kit/client/fetch-page.ts";
import { createTransport } from "../services/kit/client/transport.ts";
import { randomIds } from "../services/kit/ids/ids.ts";
import { createLogger } from "../services/kit/log/log.ts";
import { callMetrics } from "../services/kit/metrics/call-metrics.ts";
import { measuredTransport } from "../services/kit/metrics/measured-transport.ts";
import type { ProcessPage } from "../services/kit/metrics/joined-pages.ts";
import { joinPages } from "../services/kit/metrics/joined-pages.ts";
import { createMetrics } from "../services/kit/metrics/metrics.ts";
import { runProcess } from "../services/kit/process/process.ts";
import { warnIfExposed } from "../services/kit/process/process-tls.ts";
import { keysDirectory } from "../services/kit/process/keys-directory.ts";
import {
  makeRoomForSocket,
  processAccounts,
  processConfig,
  processTls,
  subjectOf,
} from "../services/kit/process/service-process.ts";
import { addressSetting, serviceNames, workerSocket } from "../services/launcher/processes.ts";
import { credentialsFile, gatewaySettings, installation } from "../services/launcher/settings.ts";
import { rootKeyVariables } from "../services/launcher/shared-settings.ts";
import { originSources } from "./cross-origin/origin-sources.ts";
import { createGateway } from "./gateway.ts";
import { defaultGatewayLimits, sharedGatewayLimits } from "./http/limits.ts";
import { openOwnServices } from "./identity/own-services.ts";
import { layout } from "./identity/store/layout.ts";
import { RequestReports } from "./reports/request-reports.ts";
import { startRpcEndpoint } from "./rpc/rpc-endpoint.ts";
import { startGateway } from "./server.ts";
import { websites } from "./website/site-source.ts";
import { drainWithoutLauncher, furtherWorkers } from "./workers.ts";
import { apiServices, checkContract } from "./services.ts";

if (import.meta.filename.endsWith(".ts")) checkContract();
const task = takeTask(process.argv);
const config = processConfig(installation, "gateway", gatewaySettings);
if (task !== undefined)
  await runTask(task, subjectOf("gateway", { layout }, "identity", config), {
    ...config,
    listen: config.identityListen,
  });
const { workers, worker } = config;
const isFurtherWorker = worker > 1;
const log = createLogger({ name: isFurtherWorker ? `gateway-${worker}` : "gateway", level: config.logLevel });
if (worker > 0) drainWithoutLauncher();
const accounts = processAccounts(installation, "gateway", log, process.env);

const tls = processTls(config, "gateway", log);
const { certificate, certificateKey } = config;
const own = { tlsCertificate: certificate, tlsKey: certificateKey, tlsAuthority: "", tlsServerName: "" };
const outside = processTls({ ...own, tlsClientCertificates: "none" }, "gateway", log).server;
warnIfExposed(config.listen, outside, log);
warnIfExposed(config.rpcListen, outside, log);

/** The metrics of another process; undefined if it does not answer soon. */
const readMetrics = async (process: string, address: string): Promise<ProcessPage> => {
  const asked = { address, tls: tls.client, path: "/metrics", limitMs: 2_000, bytesMax: 16 * 1024 * 1024 };
  return { process, page: await fetchPage(asked).catch(() => undefined) };
};

await runProcess(log, async (control) => {
  const keyPair = await ensureKeyPair(keysDirectory(config), "gateway");
  const file = await openAccessKeyFile({
    path: credentialsFile(config.dataDir),
    clock: systemClock,
    ids: randomIds,
    log,
    environment: rootKeyVariables(config),
  });
  const metrics = createMetrics({ withProcess: true });
  const calls = callMetrics(metrics, "grpc_client");
  const minter = createMinter({ keyPair, clock: systemClock });
  const trustedProxies = new TrustedProxies(config.trustedProxies);
  const connections = serviceNames.map((name) => {
    const { service, errors, isReportedTo } = apiServices[name];
    const address = config[addressSetting(name)];
    const transport = createTransport({ address, engine: "connect", tls: tls.client });
    const health = watchHealth(transport, {
      onChange: (isHanging) => {
        if (isHanging) log.error({ service: name }, "a service hangs; requests for it are answered 503");
        else log.info({ service: name }, "a service answers again");
      },
    });
    const measured = measuredTransport(transport, calls);
    const reports = isReportedTo
      ? new RequestReports({ transport: measured, audience: name, minter, clock: systemClock, log, metrics })
      : undefined;
    return { service, errors, transport: measured, health, ...(reports && { reports }) };
  });
  const ownServices = await openOwnServices({
    config,
    control,
    tls,
    log,
    metrics,
    minter,
    accounts,
    declaredKeys: joinAccessKeys({ file, accounts, log }),
    followers: serviceNames,
    trustedProxies,
    measured: (transport) => measuredTransport(transport, calls),
  });
  const storage = connections.find(({ service }) => service === apiServices["object-storage"].service);
  let publicUrl = config.publicUrl.replace(/\/$/, "");
  const gateway = createGateway({
    publicUrl: () => publicUrl,
    ...(storage && {
      websites: websites({ hosts: config.websiteHosts, transport: storage.transport, minter, clock: systemClock }),
    }),
    connections: [...connections, ...ownServices.connections],
    accessKeys: ownServices.directory,
    noteKeyUse: (use) => ownServices.noteKeyUse(use),
    noteCaller: (connection) => rpc.peers.noteCaller(connection),
    minter,
    clock: systemClock,
    ids: randomIds,
    log,
    hosts: config.hosts,
    region: config.signatureRegions === "any" ? undefined : config.region,
    versionTwo: config.signatureVersion2,
    brandWord: config.brandWord,
    trustedProxies,
    metrics,
    ...(worker > 0 && { limits: sharedGatewayLimits(defaultGatewayLimits, workers) }),
    originSources: originSources(connections, { minter, clock: systemClock, allowedOrigins: config.allowedOrigins }),
  });
  const rpc = await startRpcEndpoint({
    listen: config.rpcListen,
    tls: outside,
    connections: [...connections, ...ownServices.connections].map((connection) => ({
      ...connection,
      audience: serviceApi(connection.service).name,
    })),
    minter,
    publicKeys: keysDirectory(config),
    findPolicies: (digest, principalArn) => ownServices.findPolicies(digest, principalArn),
    allowedOrigins: config.allowedOrigins,
    trustedProxies,
    signing: gateway,
    limits: { floodsPerMinuteMax: config.floodsPerMinuteMax },
    clock: systemClock,
    log,
  });
  const allMetrics = async (): Promise<string> =>
    joinPages([
      { process: "gateway", page: (await metrics.page()).body },
      ...(await Promise.all([
        ...furtherWorkers({ workers, worker }).map((each) =>
          readMetrics(`gateway-${each}`, `unix:${workerSocket(config.socket, each)}`),
        ),
        ...serviceNames.map((name) => readMetrics(name, config[addressSetting(name)])),
      ])),
    ]);
  if (isFurtherWorker) await makeRoomForSocket(config.socket);
  const adminListen = isFurtherWorker ? { path: config.socket } : config.adminListen;
  const running = await startGateway(gateway, {
    ...config,
    adminListen,
    certificate: outside?.source,
    rpc,
    allMetrics,
  });
  // An address for all interfaces is reached on this machine by a loopback address.
  if (publicUrl === "") publicUrl = running.url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
  return {
    urls: {
      http: running.url,
      grpc: rpc.url,
      [isFurtherWorker ? "socket" : "admin"]: running.adminUrl,
      ...ownServices.urls,
    },
    stop: async () => {
      await Promise.all([running.stop(config.drainMs), rpc.stop(config.drainMs)]);
      await ownServices.stop(config.drainMs);
      await Promise.all(connections.map(async ({ reports }) => reports?.flush()));
      await Promise.all(connections.map(({ health }) => health.stop()));
      await Promise.all(connections.map(({ transport }) => transport.close()));
    },
  };
});
