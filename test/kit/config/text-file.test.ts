import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { ConfigError } from "../../../services/kit/config/config.ts";
import { configFilePath, readConfigFile } from "../../../services/kit/config/config-file.ts";
import { readNamedFile, readTextFile } from "../../../services/kit/config/text-file.ts";
import { openWatched } from "../../../services/kit/config/watched-files.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { temporaryDirectory } from "../../support/temporary-directory.ts";

const mebibyte = 1024 * 1024;
/** A directory with one of each kind of file that is no text. */
const filledDirectory = async (): Promise<string> => {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, "directory"));
  execFileSync("mkfifo", [join(directory, "pipe")]);
  await writeFile(join(directory, "long"), "");
  await truncate(join(directory, "long"), 16 * mebibyte + 1);
  await symlink("circle", join(directory, "circle"));
  return directory;
};

const refusals: ReadonlyArray<readonly [file: string, reason: string]> = [
  ["directory", "is a directory"],
  ["pipe", "is not a regular file"],
  ["/dev/zero", "is not a regular file"],
  ["long", "has more than 16777216 bytes"],
  ["circle", "cannot be read: ELOOP"],
];

const placeOf = async (file: string): Promise<string> =>
  file.startsWith("/") ? file : join(await filledDirectory(), file);

describe("a file that an operator names", () => {
  test.each(refusals)("is refused at once if it is no text of bounded length: %s", async (file, reason) => {
    const path = await placeOf(file);
    expect(() => readTextFile(path)).toThrow(new ConfigError(`${path} ${reason}`));
  });

  test.each(refusals)("is refused as the configuration: %s", async (file, reason) => {
    const path = await placeOf(file);
    const read = () => readConfigFile({ shared: {}, processes: {} }, configFilePath(path, "/"));
    expect(read).toThrow(new ConfigError(`${path} ${reason}`));
  });

  test.each(refusals)("is refused where it is watched: %s", async (file, reason) => {
    const path = await placeOf(file);
    const ignore = () => {};
    const open = () =>
      openWatched({
        read: (readText) => readText(path),
        clock: new FakeClock(),
        onChange: ignore,
        onFailure: ignore,
      });
    expect(open).toThrow(new ConfigError(`${path} ${reason}`));
  });

  test("is read whole, also over a link, up to the bound", async () => {
    const directory = await temporaryDirectory();
    const text = "ä".repeat(3 * mebibyte);
    await writeFile(join(directory, "text"), text);
    await symlink("text", join(directory, "link"));
    expect(readTextFile(join(directory, "link")) === text).toBe(true);
    expect(readTextFile(join(directory, "text"), 6 * mebibyte)?.length).toBe(3 * mebibyte);
    expect(() => readTextFile(join(directory, "text"), 6 * mebibyte - 1)).toThrow("has more than 6291455 bytes");
  });

  test("is told to be missing where it must exist, and undefined elsewhere", async () => {
    const path = join(await temporaryDirectory(), "absent");
    expect(readTextFile(path)).toBeUndefined();
    expect(() => readNamedFile(path)).toThrow(new ConfigError(`${path} does not exist`));
  });
});
