import { ErrorReasonSchema } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { runService } from "../kit/process/service-process.ts";
import { customerProfileSettings, installation } from "../launcher/settings.ts";
import { createApplication } from "./application.ts";
import { handlers } from "./service.ts";

await runService({
  name: "customer-profile",
  installation,
  settings: customerProfileSettings,
  service: CustomerProfileService,
  handlers,
  errors: ErrorReasonSchema,
  issuers: { gateway: { anyCaller: true } },
  open: async ({ store, directory, clock, ids, log, keyNames }) => {
    const app = await createApplication({ store, directory, clock, ids, log, keyNames });
    app.start();
    return { app, jobs: app.jobs, stop: () => app.stop() };
  },
});
