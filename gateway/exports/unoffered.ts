import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { DescService } from "@bufbuild/protobuf";

const root = join(import.meta.dirname, "..", "..");

/**
 * The operations of a service that are declared and not offered: those that its map of handlers names as pending. Read
 * from the source, because nothing but the service itself imports it. Throws if the map names what is no operation.
 */
export const readUnoffered = (apiName: string, service: DescService): ReadonlySet<string> => {
  const source = readFileSync(join(root, "services", apiName, "service.ts"), "utf8");
  const lists = [...source.matchAll(/\bpending\(\s*\w+,([^)]*)\)/g)].map((match) => match[1] ?? "");
  const names = lists.flatMap((list) => [...list.matchAll(/"(\w+)"/g)].map((match) => match[1] ?? ""));
  return new Set(
    names.map((name) => {
      const method = service.methods.find(({ localName }) => localName === name);
      if (method === undefined) throw new Error(`${apiName} has no operation ${name}`);
      return method.name;
    }),
  );
};
