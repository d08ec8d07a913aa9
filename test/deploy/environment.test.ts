import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { platformEnvironment } from "../../services/launcher/platform-environment.ts";
import { readInstructions } from "./dockerfile.ts";

const root = join(import.meta.dirname, "..", "..");

/** The variables that a Dockerfile's last stage sets. */
const variablesOf = (dockerfile: string): Record<string, string> => {
  const instructions = readInstructions(dockerfile);
  const lastStage = instructions.slice(instructions.findLastIndex(({ word }) => word === "FROM"));
  const pairs = lastStage.filter(({ word }) => word === "ENV").flatMap(({ rest }) => rest.split(/\s+/));
  return Object.fromEntries(pairs.map((pair) => pair.split("=")));
};

test("a process in a container of its own has the allocator and the threads that the launcher gives it", async () => {
  const variables = variablesOf(await readFile(join(root, "Dockerfile"), "utf8"));
  expect(variables).toMatchObject(platformEnvironment);
  expect(platformEnvironment).toEqual({
    UV_THREADPOOL_SIZE: "16",
    MALLOC_ARENA_MAX: "2",
    MALLOC_MMAP_THRESHOLD_: "131072",
    MALLOC_TRIM_THRESHOLD_: "131072",
  });
});

// Their containers are of that image, and what they set themselves would win.
test.each([
  "compose.yaml",
  "deploy/compose.apart.yaml",
  "deploy/kubernetes/quartet.yaml",
  "deploy/systemd/quartet.service",
])("%s leaves them as they are", async (file) => {
  const text = await readFile(join(root, file), "utf8");
  expect(Object.keys(platformEnvironment).filter((name) => text.includes(name))).toEqual([]);
});
