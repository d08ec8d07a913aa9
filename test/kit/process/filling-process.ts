// Run by tests of a process and its store. A service as a process that writes to its store, one transaction of 16 KiB
// after another, once it has read a line from standard input: as many as the line says, without a number all it can.
import { once } from "node:events";

import { ErrorReasonSchema } from "../../../gen/quartet/test/v1/error_reason_pb.ts";
import { TestService } from "../../../gen/quartet/test/v1/test_service_pb.ts";
import { address, text } from "../../../services/kit/config/config.ts";
import { runService } from "../../../services/kit/process/service-process.ts";
import { storageSettings } from "../../../services/launcher/settings.ts";
import { sharedSettings } from "../../../services/launcher/shared-settings.ts";
import { createTestApp, testHandlers } from "../server/test-service.ts";
import { events } from "../store/tables.ts";

const settings = {
  listen: address("127.0.0.1:0", "Where it listens."),
  socket: text("", "Not used."),
  identityAddress: text("", "Not used."),
  ...storageSettings,
};

await runService({
  name: "filler",
  installation: { shared: sharedSettings, processes: { filler: settings } },
  settings,
  service: TestService,
  handlers: testHandlers,
  errors: ErrorReasonSchema,
  issuers: { gateway: { anyCaller: true } },
  open: async ({ store }) => {
    const fill = async (): Promise<void> => {
      const [line] = await once(process.stdin, "data");
      const [, count = Infinity] = /^fill (\d+)/.exec(String(line)) ?? [];
      for (let sequence = 0; sequence < Number(count); sequence += 1)
        await store.transact((transaction) =>
          transaction.put(events, ["filler", sequence], { value: new Uint8Array(16 * 1024) }),
        );
    };
    // Its refusal is one caller's answer and ends nothing.
    fill().catch(() => undefined);
    return { app: createTestApp() };
  },
});
