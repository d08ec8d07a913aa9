import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { expect, test } from "vitest";

import { ConfigError } from "../../services/kit/config/config.ts";
import { forgetEndpoint, noteEndpoint, readEndpoint } from "../../services/launcher/endpoint.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("where the gateway answers is noted in a file that is replaced as a whole, and forgotten", async () => {
  const dataDir = await temporaryDirectory();
  expect(readEndpoint(dataDir)).toBeUndefined();
  await noteEndpoint(dataDir, "http://127.0.0.1:8080");
  await noteEndpoint(dataDir, "https://storage.example:443");
  expect(readEndpoint(dataDir)).toBe("https://storage.example:443");
  expect(await readdir(join(dataDir, "gateway"))).toEqual(["endpoint"]);
  await forgetEndpoint(dataDir);
  expect(readEndpoint(dataDir)).toBeUndefined();
});

test.each([
  ["nothing", "", "names no URL; stop the installation and start it again"],
  ["a text", "8080\n", "names no URL; stop the installation and start it again"],
  ["a URL of another kind", "file:///etc/passwd\n", "names no URL; stop the installation and start it again"],
  ["more than a URL", `http://${"a".repeat(4_096)}\n`, "has more than 4096 bytes"],
])("a noted address that is %s is refused", async (_what, text, reason) => {
  const dataDir = await temporaryDirectory();
  const path = join(dataDir, "gateway", "endpoint");
  await mkdir(join(dataDir, "gateway"));
  await writeFile(path, text);
  expect(() => readEndpoint(dataDir)).toThrow(new ConfigError(`${path} ${reason}`));
});
