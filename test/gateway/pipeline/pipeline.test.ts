import { expect, onTestFinished, test } from "vitest";

import { capturingLogger } from "../../support/capturing-logger.ts";
import { fixedIds } from "../../support/fixed-ids.ts";
import { startFixture } from "../support/fixture.ts";

test("a refusal that cannot be written closes its connection, and nothing else", async () => {
  const { log, lines } = capturingLogger("error");
  const fixed = fixedIds();
  let count = 0;
  // Node.js refuses to write the first id as a header.
  const uuid = (): string => ((count += 1) === 1 ? "a\nb" : fixed.uuid());
  const fixture = await startFixture({}, { log, ids: { ...fixed, uuid } });
  onTestFinished(() => fixture.stop());
  const broken = await fetch(fixture.url, { signal: AbortSignal.timeout(5_000) }).catch((error: Error) => error);
  expect(broken).toMatchObject({ message: "fetch failed" });
  expect(lines.map(({ msg }) => msg)).toContain("a refusal could not be written");
  expect((await fetch(fixture.url)).status).toBe(200);
});
