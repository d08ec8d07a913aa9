import { AuditFiles } from "../../../services/kit/audit/audit-log.ts";
import { systemClock } from "../../../services/kit/clock/clock.ts";
import { silentLogger } from "../../support/silent-logger.ts";

/** Records decisions in the directory of its argument, without end, and says when it has begun. */
const audit = new AuditFiles({
  directory: process.argv[2] ?? "",
  fileBytesMax: 64 * 1024,
  filesMax: 100_000,
  clock: systemClock,
  log: silentLogger,
});
const entry = { requestId: "r", principal: "anonymous", method: "PutObject", action: "s3:PutObject" };
const record = (): void => {
  for (let index = 0; index < 50; index++)
    audit.record({ ...entry, resource: `resource-${index}`, decision: "refused", reason: "no-allow" });
  setImmediate(record);
};
record();
setTimeout(() => process.stdout.write("begun\n"), 100);
