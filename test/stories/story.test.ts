import { expect, onTestFinished, test } from "vitest";

import { startHttpReceiver } from "../support/http-receiver.ts";
import { startSystem } from "../support/system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { playStory } from "./story.ts";

test("the official SDK clients play one story through all four services", async () => {
  const endpoint = await startHttpReceiver();
  onTestFinished(() => endpoint.close());
  const backend = await startHttpReceiver((request) => ({ status: 201, body: `ordered: ${request.body.toString()}` }));
  onTestFinished(() => backend.close());
  const system = await startSystem(await temporaryDirectory());
  onTestFinished(() => system.stop());
  const services = new Set<string>();
  await playStory(system, endpoint, backend, (step) => services.add(step.split(":")[0] ?? ""));
  expect([...services]).toEqual(["object storage", "event bus", "customer profile", "workspace"]);
  expect(endpoint.received.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "POST /objects",
    "POST /objects",
    "POST /objects",
  ]);
  expect(backend.received.at(-1)).toMatchObject({ method: "POST", url: "/17?express=1" });
});
