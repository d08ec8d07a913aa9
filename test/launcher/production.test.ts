import { execFile } from "node:child_process";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { CreateBucketCommand, ListBucketsCommand, S3Client } from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { processNames } from "../../services/launcher/processes.ts";
import { startLoggedSystem } from "../support/logged-system.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const root = join(import.meta.dirname, "..", "..");
/** What a production installation consists of. */
const parts = ["package.json", "package-lock.json", "gen", "gateway", "services"];

test(
  "an installation without development packages starts, answers a stock client and stops",
  { timeout: 120_000 },
  async () => {
    const directory = await temporaryDirectory();
    for (const part of parts) await cp(join(root, part), join(directory, part), { recursive: true });
    await promisify(execFile)("npm", ["ci", "--omit=dev", "--prefer-offline", "--no-audit", "--no-fund"], {
      cwd: directory,
    });
    const packages = await readdir(join(directory, "node_modules"));
    expect(packages).toEqual(expect.arrayContaining(["level", "undici", "zod"]));
    expect(["node", "typescript", "vitest", "@aws-sdk", "oxlint"].filter((name) => packages.includes(name))).toEqual(
      [],
    );

    const dataDir = join(directory, "data");
    const system = await startLoggedSystem(dataDir, "info", {}, directory);
    onTestFinished(() => system.stop());
    const ready = system.lines().filter(({ msg }) => msg === "ready");
    expect(ready.map(({ name }) => name).toSorted()).toEqual([...processNames].toSorted());
    const { accessKeys } = JSON.parse(await readFile(join(dataDir, "gateway/credentials.json"), "utf8")) as {
      accessKeys: [{ accessKeyId: string; secretAccessKey: string }];
    };
    const client = new S3Client({
      endpoint: system.gatewayUrl,
      region: "us-east-1",
      credentials: accessKeys[0],
      forcePathStyle: true,
    });
    onTestFinished(() => client.destroy());
    await client.send(new CreateBucketCommand({ Bucket: "produced" }));
    const { Buckets } = await client.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual(["produced"]);

    await system.stop();
    const stopped = system.lines().filter(({ msg }) => msg === "stopped");
    expect(stopped.map(({ name }) => name).toSorted()).toEqual([...processNames].toSorted());
  },
);
