import { createClient } from "@connectrpc/connect";

import { ErrorReasonSchema } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { createTransport } from "../kit/client/transport.ts";
import { jobTables } from "../kit/jobs/job-tables.ts";
import { endpointsOf } from "../kit/outgoing/service-endpoints.ts";
import { runService } from "../kit/process/service-process.ts";
import type { ClientTls } from "../kit/tls/client-tls.ts";
import { customerProfileSettings, installation } from "../launcher/settings.ts";
import { findByArn, rules } from "./access/guard.ts";
import { openCustomerProfile } from "./open.ts";
import { handlers } from "./service.ts";
import { bucketSource } from "./sources/bucket-source.ts";
import { jobTablesBase, layout } from "./store/layout.ts";

const objectStorageClient = (address: string, tls: ClientTls) =>
  createClient(ObjectStorageService, createTransport({ address, engine: "connect", tls }));

await runService({
  name: "customer-profile",
  installation,
  settings: customerProfileSettings,
  service: CustomerProfileService,
  handlers,
  errors: ErrorReasonSchema,
  issuers: { gateway: { anyCaller: true } },
  stored: { layout: [...layout, ...Object.values(jobTables(jobTablesBase))] },
  explains: { rules, findResource: findByArn },
  open: ({ config, store, directory, clock, ids, log, minter, tls, keyNames, accounts, metrics, isDiskLow }) =>
    openCustomerProfile({
      buckets: bucketSource(objectStorageClient(config.objectStorageAddress, tls), minter),
      roles: accounts,
      isDiskLow,
      metrics,
      store,
      directory,
      clock,
      ids,
      log,
      keyNames,
      accounts,
      region: config.region,
      queueEndpoint: endpointsOf(config.connectors, () => config.region).sqs,
    }),
});
