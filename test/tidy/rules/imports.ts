import { serviceNames } from "../../../services/launcher/processes.ts";
import { circlesOf, importFindings, importsOf } from "../imports.ts";
import type { Rule } from "../rule.ts";
import { product } from "../rule.ts";
import { filesOf, findLines } from "../tree.ts";

/** The engines of a service without I/O, clock or RPC types. */
const pureEngines = ["pattern/", "json/"];
/** The other engines: they work for operations and background work, and know neither. */
const engines = [
  "blobs",
  "content",
  "delivery",
  "encryption",
  "events",
  "fabric",
  "functions",
  "health",
  "ingestion",
  "logging",
  "proxy",
  "regions",
  "sources",
];

/** What a room or root file of a service may not import of it: everything that is built on it. */
const above: Readonly<Record<string, readonly string[]>> = {
  "faults.ts": ["limits.ts", "application.ts", "open.ts", "service.ts", "main.ts", "domain", "store", "access", "work"],
  "limits.ts": ["faults.ts", "application.ts", "open.ts", "service.ts", "main.ts", "domain", "store", "access", "work"],
  store: [
    "operations",
    "access",
    "work",
    "ingestion",
    "delivery",
    "application.ts",
    "open.ts",
    "service.ts",
    "main.ts",
  ],
  access: ["operations", "work", "open.ts", "service.ts", "main.ts"],
  ...Object.fromEntries(engines.map((engine) => [engine, ["operations", "work", "open.ts", "service.ts", "main.ts"]])),
  work: ["operations", "access", "open.ts", "service.ts", "main.ts"],
  "application.ts": ["operations", "open.ts", "service.ts", "main.ts"],
  operations: ["open.ts", "service.ts", "main.ts"],
  "open.ts": ["operations", "access", "service.ts", "main.ts"],
  "service.ts": ["open.ts", "main.ts"],
};

/** The room or root file of a path inside a service; undefined outside the four. */
const roomOf = (path: string): { readonly service: string; readonly room: string } | undefined => {
  const [services, service, room] = path.split("/");
  return services === "services" && serviceNames.some((name) => name === service)
    ? { service: service ?? "", room: room ?? "" }
    : undefined;
};

export const importRules: readonly Rule[] = [
  {
    name: "only the store opens LevelDB",
    check: (tree) =>
      findLines(
        filesOf(tree, product).filter(([path]) => !path.startsWith("services/kit/store/")),
        /from "(?:level|classic-level|abstract-level)"/,
        "use kit/store",
      ),
  },
  {
    name: "documents that others wrote are parsed by kit/json",
    check: (tree) =>
      findLines(
        filesOf(tree, product).filter(
          ([path]) =>
            !path.startsWith("services/kit/json/") &&
            // Files of the operator's own.
            !["services/kit/config/config-file.ts", "services/kit/identity/access-keys.ts"].includes(path),
        ),
        // One text without members, as in `JSON.parse(raw) as string`, has no names.
        /\bJSON\.parse\((?!\w+\) as string\b)/,
        "use parseJson of kit/json: JSON.parse reads some names with escapes wrongly",
      ),
  },
  {
    name: "no service imports another, and the gateway imports none",
    check: (tree) =>
      importFindings(tree, product, (path, imported) => {
        const target = serviceNames.find((name) => imported.startsWith(`services/${name}/`));
        if (target !== undefined && !path.startsWith(`services/${target}/`)) return `call ${target} as a client`;
        return imported.startsWith("gateway/") && !path.startsWith("gateway/")
          ? "nothing is built on the gateway"
          : undefined;
      }),
  },
  {
    name: "the kit and the launcher import no service and no generated service",
    check: (tree) =>
      importFindings(tree, /^services\/(?:kit|launcher)\/.*\.ts$/, (path, imported) => {
        const isOwn = imported.startsWith(path.split("/").slice(0, 2).join("/"));
        return (imported.startsWith("services/") && !imported.startsWith("services/kit/") && !isOwn) ||
          /^gen\/quartet\/(?!traits\/|kit\/|jobs\/)/.test(imported)
          ? `${imported} is built on it`
          : undefined;
      }),
  },
  {
    name: "domain code imports only domain code, pure engines and generated types",
    check: (tree) =>
      importFindings(tree, /^services\/[a-z-]+\/(?:domain|pattern|json)\/.*\.ts$/, (path, imported) => {
        const service = `${path.split("/").slice(0, 2).join("/")}/`;
        const isDomain = path.startsWith(`${service}domain/`);
        const allowed =
          pureEngines.some((engine) => imported.startsWith(service + engine)) ||
          (isDomain && imported.startsWith(`${service}domain/`)) ||
          [`${service}faults.ts`, `${service}limits.ts`].includes(imported) ||
          imported.startsWith("gen/") ||
          /^services\/kit\/(?:faults|arn|clock|digests|ids|json|network|schedule|tags)\//.test(imported);
        return allowed ? undefined : `${imported} is not domain code`;
      }),
  },
  {
    name: "imports within a service point downwards",
    check: (tree) =>
      importFindings(tree, /^services\/.*\.ts$/, (path, imported) => {
        const from = roomOf(path);
        const to = roomOf(imported);
        return from !== undefined && from.service === to?.service && above[from.room]?.includes(to.room)
          ? `${imported} is built on ${from.room}`
          : undefined;
      }),
  },
  {
    name: "no import leads in a circle, types included",
    check: (tree) => {
      const graph = new Map(filesOf(tree, product).map(([path, content]) => [path, importsOf(path, content)]));
      return circlesOf(graph).map(([path = "", ...others]) => ({
        path,
        line: 0,
        message: `in a circle with ${others.join(", ")}`,
      }));
    },
  },
];
