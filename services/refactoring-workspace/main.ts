import { ErrorReasonSchema } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { RefactoringWorkspaceService } from "../../gen/quartet/refactoringworkspace/v1/refactoring_workspace_service_pb.ts";
import { jobTables } from "../kit/jobs/job-tables.ts";
import { warnIfExposed } from "../kit/process/process-tls.ts";
import { runService } from "../kit/process/service-process.ts";
import { openTlsFiles } from "../kit/tls/tls-files.ts";
import { installation, refactoringWorkspaceSettings } from "../launcher/settings.ts";
import { findByArn, rules } from "./access/guard.ts";
import { openRefactoringWorkspace } from "./open.ts";
import { handlers } from "./service.ts";
import { jobTablesBase, layout } from "./store/layout.ts";

/** Partition and service of the ARNs that each dialect writes. */
const arnPrefixes = {
  amz: { partition: "aws", service: "refactor-spaces" },
  svc: { partition: "svc", service: "refactoring-workspace" },
} as const;

await runService({
  name: "refactoring-workspace",
  installation,
  settings: refactoringWorkspaceSettings,
  service: RefactoringWorkspaceService,
  handlers,
  errors: ErrorReasonSchema,
  issuers: { gateway: { anyCaller: true } },
  stored: { layout: [...layout, ...Object.values(jobTables(jobTablesBase))] },
  explains: { rules, findResource: findByArn },
  open: async ({ config, store, clock, ids, log, accounts, trustedProxies, metrics }) => {
    const { proxyCertificate: certificate, proxyCertificateKey: key } = config;
    const isSecure = certificate !== "" || key !== "";
    const proxyCertificate = isSecure ? openTlsFiles({ certificate, key, authority: "" }, clock, log) : undefined;
    warnIfExposed(config.proxyListen, proxyCertificate && { source: proxyCertificate }, log);
    const { app, jobs, proxy, stop } = await openRefactoringWorkspace({
      store,
      clock,
      ids,
      log,
      accounts,
      arnPrefix: { ...arnPrefixes[config.emit], region: config.region },
      proxyListen: config.proxyListen,
      proxyCertificate,
      proxyUrl: config.proxyUrl,
      trustedProxies,
      metrics,
      allowsPrivateTargets: config.privateTargets === "allow",
      privateAuthorities: new Map(
        Object.entries(config.privateAuthorities).map(([domain, authority]) => [
          domain,
          openTlsFiles({ certificate: "", key: "", authority }, clock, log),
        ]),
      ),
      privateLinks: config.privateLinks,
      egressProxy: config.egressProxy,
      functionsUrl: config.functionsUrl,
      functionsKey: { accessKeyId: config.functionsAccessKeyId, secretAccessKey: config.functionsSecretAccessKey },
    });
    return {
      app,
      jobs,
      urls: { proxy: proxy.url },
      refuseFlooders: (peers) => proxy.refuseFlooders(peers),
      stop: () => stop(config.drainMs),
    };
  },
});
