import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import type { RolldownPluginOption } from "rolldown";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

import { builtinObjects, lazyFieldDescriptors, lazyFields } from "../../services/launcher/bundle-plugins.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

const run = promisify(execFile);

/** What the script prints when it runs from a bundle. */
const printed = async (directory: string, plugins: RolldownPluginOption): Promise<string> => {
  const input = join(import.meta.dirname, "printed-descriptors.ts");
  const bundle = await rolldown({ input, platform: "node", plugins });
  const { output } = await bundle.generate({ format: "cjs" });
  await bundle.close();
  const path = join(directory, "bundle.cjs");
  await writeFile(path, output[0].code);
  return (await run(process.execPath, [path])).stdout;
};

test("a bundle that decodes the fields of descriptors when they are read has the same descriptors", async () => {
  const directory = await temporaryDirectory();
  const plain = await printed(directory, []);
  expect(await printed(directory, [builtinObjects, lazyFields, lazyFieldDescriptors])).toBe(plain);
  expect(JSON.parse(plain)).toMatchObject({ request: { domainName: "shop", attributes: { size: "m" } } });
});
