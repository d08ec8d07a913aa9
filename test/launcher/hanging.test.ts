import { expect, onTestFinished, test } from "vitest";

import { isServing } from "../../services/launcher/health-probe.ts";
import { startInstallation } from "../../services/launcher/installation.ts";
import { capturingLogger } from "../support/capturing-logger.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("a process that hangs is killed after three missed probes and started again", { timeout: 90_000 }, async () => {
  const { log, lines } = capturingLogger("error");
  const installation = await startInstallation({
    dataDir: await temporaryDirectory(),
    usesFreePorts: true,
    env: { ...process.env, QUARTET_LOG_LEVEL: "error" },
    log,
    drainMs: 5_000,
    limits: { probeIntervalMs: 200, probeLimitMs: 2_000 },
  });
  onTestFinished(() => installation.stop());
  const hanging = ["object-storage", "gateway"] as const;
  const before = hanging.map((name) => installation.pid(name));
  for (const pid of before) process.kill(Number(pid), "SIGSTOP");

  const killed = () => lines.filter(({ msg }) => msg === "process does not answer; it is killed");
  await eventually(() => killed().length === 2, "both are killed", 30_000);
  expect(killed().map((line) => [line["process"], line["pid"]])).toEqual(
    expect.arrayContaining(hanging.map((name, index) => [name, before[index]])),
  );
  for (const name of hanging) {
    const question = { urls: installation.urls(name), tls: undefined, limitMs: 1_000 };
    await eventually(() => isServing(question), `${name} answers again`, 30_000);
  }
  expect(before).not.toContain(installation.pid("object-storage"));
});
