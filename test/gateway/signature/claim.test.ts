import { expect, test } from "vitest";

import { readClaim } from "../../../gateway/signature/claim.ts";
import { indexHeaders } from "../../../gateway/signature/canonical.ts";
import { collector } from "../../../services/kit/process/collector.ts";
import { dialects } from "../support/fixture.ts";

test("claims of anybody are not remembered if they are long: two hundred would hold 56 MB", () => {
  const collect = collector();
  const { signature: brand } = dialects.amz;
  const names = ";".repeat(31_000);
  collect({ type: "major", execution: "sync" });
  const before = process.memoryUsage().heapUsed;
  for (let count = 0; count < 200; count += 1) {
    const credential = `AKID${count}/20260102/us-east-1/s3/aws4_request`;
    const value = `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${names},Signature=${"0".repeat(64)}`;
    // Through bytes, as from the network, so that no text is made of parts of another.
    const received = Buffer.from(value).toString("latin1");
    expect(readClaim(indexHeaders(["authorization", received]), [], brand)?.accessKeyId).toBe(`AKID${count}`);
  }
  collect({ type: "major", execution: "sync" });
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
});
