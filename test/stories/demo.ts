import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startHttpReceiver } from "../support/http-receiver.ts";
import { startSystem } from "../support/system.ts";
import { playStory } from "./story.ts";

/**
 * `npm run demo`: starts everything on free ports and a temporary directory, plays one story with the official SDK
 * clients, prints each step with its answer, and removes what it made. Exits 0 only if each answer was right.
 */
const dataDir = await mkdtemp(join(tmpdir(), "quartet-demo-"));
const endpoint = await startHttpReceiver();
const backend = await startHttpReceiver((request) => ({ status: 201, body: `ordered: ${request.body.toString()}` }));
let steps = 0;
try {
  const system = await startSystem(dataDir);
  process.stdout.write(`gateway at ${system.installation.gatewayUrl}\n`);
  try {
    await playStory(system, endpoint, backend, (step, answer) => {
      process.stdout.write(`${String(++steps).padStart(2)}. ${step}\n      ${JSON.stringify(answer)}\n`);
    });
  } finally {
    await system.stop();
  }
  process.stdout.write(`All ${steps} answers were right.\n`);
} catch (error) {
  process.stderr.write(`after ${steps} right answers: ${(error as Error).stack}\n`);
  process.exitCode = 1;
} finally {
  await Promise.all([endpoint.close(), backend.close()]);
  await rm(dataDir, { recursive: true, force: true });
}
