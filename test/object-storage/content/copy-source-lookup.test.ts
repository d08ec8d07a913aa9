import { expect, test } from "vitest";

import type { Reader } from "../../../services/kit/store/store.ts";
import type { SourceContext } from "../../../services/object-storage/content/copy-source-lookup.ts";
import { findSource } from "../../../services/object-storage/content/copy-source-lookup.ts";

// The call was allowed for a bucket with versions, which another one of its name has replaced since.
test("a version of a bucket that keeps none any more is not the current object", async () => {
  const bucket = { in: async () => ({ bucketId: "b2", versioning: "" }) };
  const context = { access: { source: { bucket, key: "cat.jpg", versionId: "00000000000000000001" } } };
  const found = findSource({} as Reader, context as unknown as SourceContext, {}, undefined);
  await expect(found).rejects.toMatchObject({ facts: { reason: "INVALID_VERSION_ID" } });
});
