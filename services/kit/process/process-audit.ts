import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

import { AuditFiles } from "../audit/audit-log.ts";
import { systemClock } from "../clock/clock.ts";
import type { Logger } from "../log/log.ts";

/** The settings of the record of decisions. */
export interface AuditConfig {
  readonly auditLog: "on" | "off";
  readonly auditFileMebibytes: number;
  readonly auditFiles: number;
}

const mebibyte = 1024 * 1024;

/** Opens the record of decisions in a process's own directory. Undefined: it has none. */
export const openAudit = (directory: string, config: AuditConfig, log: Logger): AuditFiles | undefined =>
  config.auditLog === "off"
    ? undefined
    : new AuditFiles({
        directory: join(directory, "audit"),
        fileBytesMax: config.auditFileMebibytes * mebibyte,
        filesMax: config.auditFiles,
        clock: systemClock,
        log,
      });

/** How long a stopping process waits until its last decisions are written. */
const lastDecisionsMs = 500;

/** Closes the record; what the files do not accept within half a second is lost. */
export const closeAudit = async (audit: AuditFiles | undefined): Promise<void> => {
  if (audit === undefined) return;
  // The time that is left of it keeps no process from ending.
  await Promise.race([audit.flush(), setTimeout(lastDecisionsMs, undefined, { ref: false })]);
  audit.close();
};
