import { execFile } from "node:child_process";
import { appendFile, chmod, copyFile, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { ListDomainsCommand } from "@aws-sdk/client-customer-profiles";
import { ListEventBusesCommand } from "@aws-sdk/client-eventbridge";
import { ListEnvironmentsCommand } from "@aws-sdk/client-migration-hub-refactor-spaces";
import { CreateBucketCommand, ListBucketsCommand } from "@aws-sdk/client-s3";
import { expect, onTestFinished, test } from "vitest";

import { processNames } from "../../services/launcher/processes.ts";
import { startLoggedSystem } from "../support/logged-system.ts";
import { destroyClients, sdkClients } from "../support/sdk-clients.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { build, readInstructions } from "./dockerfile.ts";

const checkout = join(import.meta.dirname, "..", "..");

/** The names of the packages in a directory. */
const installedPackages = async (directory: string): Promise<readonly string[]> => {
  const names = await readdir(directory);
  const scoped = names.filter((name) => name.startsWith("@"));
  const inScopes = scoped.map(async (scope) =>
    (await readdir(join(directory, scope))).map((name) => `${scope}/${name}`),
  );
  return [...names, ...(await Promise.all(inScopes)).flat()];
};

/** A user who owns nothing, where this process may become one. */
const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

test(
  "the Dockerfile's steps make an installation that an unprivileged user starts, calls and stops",
  { timeout: 240_000 },
  async () => {
    const scratch = await temporaryDirectory();
    await chmod(scratch, 0o755);
    // The directory of this run, through which the other user must get.
    if (dirname(scratch) !== "/tmp") await chmod(dirname(scratch), 0o711);
    const ignored = (await readFile(join(checkout, ".dockerignore"), "utf8")).split("\n");
    const owner = nobody === undefined ? `${process.getuid?.()}:${process.getgid?.()}` : "65534:65534";
    const image = await build({
      instructions: readInstructions(await readFile(join(checkout, "Dockerfile"), "utf8")),
      context: checkout,
      scratch,
      isInContext: (path) => ignored.includes(`!${path}`),
      // A container's own paths and users do not exist here.
      adapt: (command, root) =>
        command
          .replaceAll("/data", join(root, "data"))
          .replace("node:node", owner)
          .replace("npm ci", "npm ci --prefer-offline"),
    });
    expect(image.user).toBe("node");
    const installed = join(image.root, image.workingDirectory);
    const packages = await installedPackages(join(installed, "node_modules"));
    expect(packages).toEqual(expect.arrayContaining(["level", "undici", "zod"]));
    expect(
      ["node", "typescript", "vitest", "@aws-sdk/client-s3", "oxlint", "rolldown"].filter((name) =>
        packages.includes(name),
      ),
    ).toEqual([]);
    for (const name of processNames)
      await appendFile(join(installed, "dist", `${name}.cjs`), `process.stdout.write("a bundle of ${name}\\n");\n`);
    // Only the owner of the image's files may change them.
    await promisify(execFile)("chmod", ["-R", "go=u-w", image.root]);
    const node = join(scratch, "node");
    await copyFile(process.execPath, node);
    await chmod(node, 0o755);

    const [program, ...argv] = image.command;
    expect(program).toBe("node");
    const dataDir = join(image.root, String(image.environment["QUARTET_DATA_DIR"]));
    const system = await startLoggedSystem(dataDir, "info", {
      env: { ...image.environment, NODE_COMPILE_CACHE: join(dataDir, "compile-cache") },
      checkout: installed,
      command: [node, ...argv],
      ...(nobody === undefined ? {} : { user: nobody }),
    });
    onTestFinished(() => system.stop());
    const ready = system.lines().filter(({ msg }) => msg === "ready");
    expect(ready.map(({ name }) => name).toSorted()).toEqual([...processNames].toSorted());

    for (const name of processNames) expect(system.output()).toContain(`a bundle of ${name}\n`);

    const admin = new URL(String(system.urls("gateway")["admin"]));
    const [, ...check] = image.healthCheck.map((each) => each.replace("127.0.0.1:8089", `127.0.0.1:${admin.port}`));
    await promisify(execFile)(process.execPath, check);
    const { accessKeys } = JSON.parse(await readFile(join(dataDir, "gateway/credentials.json"), "utf8")) as {
      accessKeys: [{ accessKeyId: string; secretAccessKey: string }];
    };
    const clients = sdkClients({
      endpoint: `http://127.0.0.1:${new URL(system.gatewayUrl).port}`,
      credentials: accessKeys[0],
    });
    onTestFinished(() => destroyClients(clients));
    await clients.objectStorage.send(new CreateBucketCommand({ Bucket: "produced" }));
    const { Buckets } = await clients.objectStorage.send(new ListBucketsCommand({}));
    expect(Buckets?.map(({ Name }) => Name)).toEqual(["produced"]);
    const { EventBuses } = await clients.eventBus.send(new ListEventBusesCommand({}));
    expect(EventBuses?.map(({ Name }) => Name)).toEqual(["default"]);
    expect((await clients.customerProfile.send(new ListDomainsCommand({}))).Items).toEqual([]);
    expect((await clients.workspace.send(new ListEnvironmentsCommand({}))).EnvironmentSummaryList).toEqual([]);

    await system.stop();
    const stopped = system.lines().filter(({ msg }) => msg === "stopped");
    expect(stopped.map(({ name }) => name).toSorted()).toEqual([...processNames].toSorted());
    await expect(promisify(execFile)(process.execPath, check)).rejects.toMatchObject({ code: 1 });
  },
);
