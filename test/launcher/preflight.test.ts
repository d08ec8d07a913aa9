import { mkdir, stat, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import { noteEndpoint, readEndpoint } from "../../services/launcher/endpoint.ts";
import { checkStart } from "../../services/launcher/preflight.ts";
import { runProgram } from "../support/run-program.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

/** Listens until the test ends. */
const listening = async (where: { readonly host: string; readonly port: number } | { readonly path: string }) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(where, resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

const free = { host: "127.0.0.1", port: 0 };
/** Every address is free but those that a test sets. */
const freeAddresses = {
  QUARTET_CUSTOMER_PROFILE_LISTEN: "127.0.0.1:0",
  QUARTET_REFACTORING_WORKSPACE_LISTEN: "127.0.0.1:0",
  QUARTET_REFACTORING_WORKSPACE_PROXY_LISTEN: "127.0.0.1:0",
  QUARTET_EVENT_BUS_LISTEN: "127.0.0.1:0",
  QUARTET_OBJECT_STORAGE_LISTEN: "127.0.0.1:0",
  QUARTET_GATEWAY_LISTEN: "127.0.0.1:0",
  QUARTET_GATEWAY_ADMIN_LISTEN: "127.0.0.1:0",
};

const check = (dataDir: string, env: Record<string, string>, usesFreePorts = false): Promise<void> =>
  checkStart({ dataDir, usesFreePorts, sources: { argv: [], env: { ...freeAddresses, ...env }, directory: "/" } });

describe("checkStart", () => {
  test("passes where all is free, and creates the data directory", async () => {
    const dataDir = join(await temporaryDirectory(), "new");
    await check(dataDir, {});
    expect((await stat(dataDir)).isDirectory()).toBe(true);
  });

  test.runIf(process.platform === "linux")("refuses a data directory in which nothing can be created", async () => {
    await expect(check("/proc/absent/data", {}, true)).rejects.toThrow(
      "the data directory /proc/absent/data cannot be used (ENOENT); set another dataDir",
    );
  });

  test("names every address that is taken, with the variable that changes it", async () => {
    const [bus, gateway] = [await listening(free), await listening(free)];
    const env = {
      QUARTET_EVENT_BUS_LISTEN: `127.0.0.1:${bus}`,
      QUARTET_GATEWAY_ADMIN_LISTEN: `127.0.0.1:${gateway}`,
    };
    await expect(check(await temporaryDirectory(), env)).rejects.toThrow(
      `127.0.0.1:${bus} (QUARTET_EVENT_BUS_LISTEN), 127.0.0.1:${gateway} (QUARTET_GATEWAY_ADMIN_LISTEN) ` +
        "are in use by another program; set other addresses, or pass --free-ports",
    );
    await check(await temporaryDirectory(), env, true);
  });

  test("refuses a data directory in which an installation runs", async () => {
    const dataDir = await temporaryDirectory();
    await mkdir(join(dataDir, "sockets"));
    await listening({ path: join(dataDir, "sockets", "event-bus.sock") });
    await expect(check(dataDir, {}, true)).rejects.toThrow(
      `the data directory ${dataDir} is in use by a running Quartet; stop it, or set another dataDir`,
    );
  });

  test("forgets the address of an installation that was killed, even where the start fails", async () => {
    const dataDir = await temporaryDirectory();
    await noteEndpoint(dataDir, "http://127.0.0.1:8080");
    const env = { QUARTET_EVENT_BUS_LISTEN: `127.0.0.1:${await listening(free)}` };
    await expect(check(dataDir, env)).rejects.toThrow("is in use by another program");
    expect(readEndpoint(dataDir)).toBeUndefined();
  });

  test("keeps the address of an installation that runs", async () => {
    const dataDir = await temporaryDirectory();
    await noteEndpoint(dataDir, "http://127.0.0.1:8080");
    await mkdir(join(dataDir, "sockets"));
    await listening({ path: join(dataDir, "sockets", "event-bus.sock") });
    await expect(check(dataDir, {}, true)).rejects.toThrow("is in use by a running Quartet");
    expect(readEndpoint(dataDir)).toBe("http://127.0.0.1:8080");
  });

  test("refuses a data directory that is a file's place", async () => {
    await expect(check("/dev/null/data", {}, true)).rejects.toThrow("/dev/null/data is not in a directory");
  });

  test("refuses a data directory that is a file", async () => {
    const dataDir = join(await temporaryDirectory(), "file");
    await writeFile(dataDir, "");
    await expect(check(dataDir, {}, true)).rejects.toThrow(`${dataDir} is a file; set another dataDir`);
  });

  test("reads the variables of every process first", async () => {
    await expect(check("/dev/null/data", { QUARTET_GATEWAY_LISTEN: "27080" })).rejects.toThrow(
      "QUARTET_GATEWAY_LISTEN must be host:port, for example 127.0.0.1:8080",
    );
  });
});

describe("a start that cannot succeed ends with one line, before anything runs", () => {
  test("for a taken port", async () => {
    const port = await listening(free);
    const dataDir = await temporaryDirectory();
    const env = { ...freeAddresses, QUARTET_GATEWAY_LISTEN: `127.0.0.1:${port}` };
    expect(await runProgram("services/launch.ts", ["--data-dir", dataDir], { env })).toEqual({
      status: 1,
      output: "",
      errors:
        `quartet: 127.0.0.1:${port} (QUARTET_GATEWAY_LISTEN) is in use by another program; ` +
        "set other addresses, or pass --free-ports\n",
    });
  });

  test("for a variable of one process", async () => {
    const env = { QUARTET_EVENT_BUS_BUSES_MAX: "many" };
    expect(await runProgram("services/launch.ts", ["--free-ports"], { env })).toEqual({
      status: 2,
      output: "",
      errors: "quartet: QUARTET_EVENT_BUS_BUSES_MAX must be a whole number from 1 to 100000\n",
    });
  });

  test("for one process alone, in its log without a stack", async () => {
    const port = await listening(free);
    const argv = [`--listen=127.0.0.1:${port}`, `--data-dir=${await temporaryDirectory()}`];
    const { status, output, errors } = await runProgram("services/event-bus/main.ts", argv);
    const lines = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect([status, errors, lines.map(({ level, msg, err }) => ({ level, msg, err }))]).toEqual([
      1,
      "",
      [
        {
          level: 60,
          msg:
            `cannot start: 127.0.0.1:${port} is in use by another program: ` +
            "choose another address; --help lists the settings",
          err: undefined,
        },
      ],
    ]);
  });
});
