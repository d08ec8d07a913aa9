// Run by the test of the life of a process. Opens until a line arrives on standard input.
import { once } from "node:events";

import { runProcess } from "../../../services/kit/process/process.ts";
import { silentLogger } from "../../support/silent-logger.ts";

await runProcess(silentLogger, async () => {
  await once(process.stdin, "data");
  process.stdin.destroy();
  return { urls: { rpc: "http://127.0.0.1:1" }, stop: async () => undefined };
});
