import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";

import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import { bucketDocuments } from "../../gateway/bucket-documents.ts";
import { FakeClock } from "../support/fake-clock.ts";

/** Reads suffixes of index documents; `asked` has each bucket that object storage was asked for, and by whose token. */
const start = () => {
  const clock = new FakeClock();
  const asked: string[] = [];
  const state = { isDown: false };
  const transport = createRouterTransport(({ service }) => {
    service(ObjectStorageService, {
      getBucketWebsite: ({ bucket }, { requestHeader }) => {
        asked.push(`${bucket} ${requestHeader.get("authorization")}`);
        if (state.isDown) throw new ConnectError("down", Code.Unavailable);
        return { indexDocument: { suffix: `${bucket}.html` } };
      },
    });
  });
  const minter = {
    mint: async ({ isAnonymous, isPreauthorized }: { isAnonymous: boolean; isPreauthorized?: boolean }, to: string) =>
      `${isAnonymous}/${isPreauthorized}/${to}`,
  };
  const indexOf = bucketDocuments({ transport, minter, clock }, async (client, bucket, call) => {
    const { indexDocument } = await client.getBucketWebsite({ bucket }, call);
    return indexDocument?.suffix;
  });
  return { clock, asked, state, indexOf };
};

test("a document is read in the gateway's own name, and again half a second later", async () => {
  const { clock, asked, indexOf } = start();
  expect(await Promise.all([indexOf("photos"), indexOf("photos"), indexOf("texts")])).toEqual([
    "photos.html",
    "photos.html",
    "texts.html",
  ]);
  clock.advance(499);
  await indexOf("photos");
  expect(asked).toEqual(["photos Bearer true/true/object-storage", "texts Bearer true/true/object-storage"]);
  clock.advance(1);
  await indexOf("photos");
  expect(asked).toHaveLength(3);
});

test("a document is read again when the machine's clock was set back", async () => {
  const { clock, asked, indexOf } = start();
  await indexOf("photos");
  clock.setBack(86_400_000);
  await indexOf("photos");
  expect(asked).toHaveLength(2);
});

test("a failure is not cached", async () => {
  const { state, asked, indexOf } = start();
  state.isDown = true;
  await expect(indexOf("photos")).rejects.toMatchObject({ code: Code.Unavailable });
  state.isDown = false;
  expect(await indexOf("photos")).toBe("photos.html");
  expect(asked).toHaveLength(2);
});
