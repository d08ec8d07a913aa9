import { expect, onTestFinished, test } from "vitest";

import { startFixture } from "./support/fixture.ts";

// setting, header
test.each([
  ["version", "Quartet/0.1.0"],
  ["name", "Quartet"],
  ["none", null],
] as const)("with serverHeader %s answers say %s", async (serverHeader, said) => {
  const fixture = await startFixture({}, { serverHeader });
  onTestFinished(() => fixture.stop());
  const answer = await fetch(`${fixture.url}/no-such-bucket`);
  expect([answer.status, answer.headers.get("server")]).toEqual([200, said]);
});
