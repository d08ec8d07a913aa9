import type { ServiceName } from "../../../services/launcher/processes.ts";
import { serviceNames } from "../../../services/launcher/processes.ts";
import { importsOf } from "../imports.ts";
import type { Rule } from "../rule.ts";
import { code, product } from "../rule.ts";
import type { Finding, Tree } from "../tree.ts";
import { filesOf } from "../tree.ts";

const sourceLinesMax = 400;
/** A table of cases is read down, not across, so a test may be longer. */
const testLinesMax = 600;

/** What the root of each service holds. */
const rootFiles = ["README.md", "application.ts", "faults.ts", "limits.ts", "main.ts", "open.ts", "service.ts"];
/** The rooms that all services have or may have. */
const commonRooms = ["operations", "domain", "store", "access", "work"];
/** The engines of each. */
const engineRooms: Readonly<Record<ServiceName, readonly string[]>> = {
  "customer-profile": ["ingestion", "encryption", "sources"],
  "refactoring-workspace": ["proxy", "health", "fabric"],
  "event-bus": ["pattern", "delivery", "json", "ingestion", "encryption"],
  "object-storage": ["blobs", "content", "encryption", "events", "functions", "logging", "regions", "select"],
};

const rootFindings = (tree: Tree, service: ServiceName): Finding[] => {
  const root = `services/${service}/`;
  const paths = [...tree.keys()].filter((path) => path.startsWith(root)).map((path) => path.slice(root.length));
  if (paths.length === 0) return [];
  const rooms = [...commonRooms, ...engineRooms[service]];
  const missing = rootFiles.filter((file) => !paths.includes(file));
  const strange = new Set(paths.filter((path) => !path.includes("/") && !rootFiles.includes(path)));
  const strangeRooms = new Set(
    paths.flatMap((path) => (path.includes("/") ? [path.slice(0, path.indexOf("/"))] : [])).filter(isStrange(rooms)),
  );
  return [
    ...missing.map((file) => ({ path: root + file, line: 0, message: "each service has this file in its root" })),
    ...[...strange].map((file) => ({ path: root + file, line: 0, message: `put it in one of ${rooms.join(", ")}` })),
    ...[...strangeRooms].map((room) => ({ path: root + room, line: 0, message: `the rooms are ${rooms.join(", ")}` })),
  ];
};

const isStrange = (known: readonly string[]) => (room: string) => !known.includes(room);

export const fileRules: readonly Rule[] = [
  {
    name: "source files are at most 400 lines long, tests 600",
    check: (tree) =>
      filesOf(tree, code)
        .filter(
          ([path, content]) =>
            content.split("\n").length - 1 > (path.startsWith("test/") ? testLinesMax : sourceLinesMax),
        )
        .map(([path, content]) => ({
          path,
          line: 0,
          message: `${content.split("\n").length - 1} lines; look for the second noun`,
        })),
  },
  {
    name: "files are named in kebab case and after a noun",
    check: (tree) =>
      filesOf(tree, code)
        .filter(([path]) => {
          const name = path.split("/").at(-1) ?? "";
          return (
            !/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test|\.d)?\.ts$/.test(name) ||
            /^(?:utils?|helpers?|common|misc|shared)\./.test(name)
          );
        })
        .map(([path]) => ({ path, line: 0, message: "name the file in kebab case after its noun" })),
  },
  {
    name: "the root of each service holds the same files and known rooms",
    check: (tree) => serviceNames.flatMap((service) => rootFindings(tree, service)),
  },
  {
    name: "application.ts declares types only",
    check: (tree) =>
      filesOf(tree, /^services\/[a-z-]+\/application\.ts$/).flatMap(([path, content]) =>
        [...content.matchAll(/^(?:export )?(?:const|let|async function|function|class|enum) (\w+)/gm)].map((match) => ({
          path,
          line: 0,
          message: `${match[1]} is no type; values belong in open.ts or a room`,
        })),
      ),
  },
  {
    name: "no source file is dead",
    check: (tree) => {
      const scripts =
        (JSON.parse(tree.get("package.json") ?? "{}") as { scripts?: Record<string, string> }).scripts ?? {};
      const started = Object.values(scripts).flatMap((script) => script.match(/[\w./-]+\.ts/g) ?? []);
      // services/run.cjs runs a program by its name.
      const named = Object.values(scripts)
        .flatMap((script) => script.match(/(?<=run\.cjs )[a-z-]+/g) ?? [])
        .flatMap((name) => [`services/${name}.ts`, `services/${name}/main.ts`, `${name}/main.ts`])
        .filter((path) => tree.has(path));
      // Threads are started by their files, which the bundles name.
      const threads = tree.get("services/launcher/bundle.ts")?.match(/services\/[\w./-]+-worker\.ts/g) ?? [];
      const entries = [...started, ...named, ...threads, ...filesOf(tree, /^test\/.*\.ts$/).map(([path]) => path)];
      const reached = new Set<string>();
      const visit = (path: string): void => {
        if (reached.has(path)) return;
        reached.add(path);
        for (const imported of importsOf(path, tree.get(path) ?? "")) visit(imported);
      };
      entries.forEach(visit);
      return (
        filesOf(tree, product)
          // The compiler finds the types of packages without an import.
          .filter(([path]) => !reached.has(path) && !path.endsWith(".d.ts"))
          .map(([path]) => ({ path, line: 0, message: "nothing imports it" }))
      );
    },
  },
];
