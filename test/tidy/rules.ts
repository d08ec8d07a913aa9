import { dirname, join, normalize } from "node:path";

import { serviceNames } from "../../services/launcher/processes.ts";
import type { Finding, Tree } from "./tree.ts";
import { filesOf, findLines } from "./tree.ts";

/** One rule of the house style that a program can hold. */
export interface Rule {
  readonly name: string;
  readonly check: (tree: Tree) => Finding[];
}

const code = /^(?:services|gateway|test)\/.*\.ts$/;
const product = /^(?:services|gateway)\/.*\.ts$/;
/** A service's engine folders without I/O, clock or RPC types. */
const pureEngines = ["pattern/", "json/"];
/** The file that declares a service's RPCs. */
const serviceProto = (service: string): string =>
  `proto/quartet/${service.replaceAll("-", "")}/v1/${service.replaceAll("-", "_")}_service.proto`;
const sourceLinesMax = 400;
/** A table of cases is read down, not across, so a test may be longer. */
const testLinesMax = 600;

/** The paths that a file imports from this repository. */
const importsOf = (path: string, content: string): string[] =>
  [...content.matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+)["']/g)].map((match) =>
    normalize(join(dirname(path), match[1] ?? "")),
  );

const importFindings = (
  tree: Tree,
  files: RegExp,
  forbidden: (path: string, imported: string) => string | undefined,
): Finding[] =>
  filesOf(tree, files).flatMap(([path, content]) =>
    importsOf(path, content).flatMap((imported) => {
      const message = forbidden(path, imported);
      return message === undefined ? [] : [{ path, line: 0, message }];
    }),
  );

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** RPC names of a service, in the handlers' spelling. */
const methodsOf = (tree: Tree, service: string): string[] => {
  const proto = tree.get(serviceProto(service)) ?? "";
  return [...proto.matchAll(/^\s*rpc (\w+)\(/gm)].map((match) => lowerFirst(match[1] ?? ""));
};

/** Names that a service's service.ts declares as pending. */
const pendingOf = (tree: Tree, service: string): Set<string> => {
  const files = filesOf(tree, new RegExp(`^services/${service}/(?:service|pending)\\.ts$`));
  const calls = files.flatMap(([, content]) =>
    [...content.matchAll(/pending\(([^)]*)\)/gs)].map((match) => match[1] ?? ""),
  );
  return new Set(calls.flatMap((call) => [...call.matchAll(/"(\w+)"/g)].map((match) => match[1] ?? "")));
};

/** The names that files export, with those of the rows of a table of handlers. */
const exportedNames = (files: ReadonlyArray<readonly [string, string]>): Map<string, string> =>
  new Map(
    files.flatMap(([path, content]) =>
      [
        ...content.matchAll(/^export (?:const|async function\*?|function\*?) (\w+)/gm),
        ...content.matchAll(/^ {2}(\w+): \w+(?:\(.*\))?,$/gm),
      ].map((match) => [match[1] ?? "", path] as const),
    ),
  );

export const rules: readonly Rule[] = [
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
    name: "nothing is left for later without a condition",
    check: (tree) =>
      findLines(
        filesOf(tree, /^(?:services|gateway|test|proto)\/.*\.(?:ts|proto|py|sh)$/).filter(
          ([path]) => !path.startsWith("test/tidy/"),
        ),
        /\b(?:TODO(?!\([^)]+\))|FIXME|XXX|HACK)\b|\bfor now\b|\bnot (?:yet )?implemented yet\b/,
        "do it, or leave it out and say so where readers look",
      ),
  },
  {
    name: "a skipped or focused test gives its reason",
    check: (tree) =>
      findLines(
        filesOf(tree, /^test\/.*\.ts$/).filter(([path]) => !path.startsWith("test/tidy/")),
        /\.(?:skip|only|todo)\(/,
        "say why on the same line: // reason: …",
        /\/\/ reason: \S/,
      ),
  },
  {
    name: "an exemption from lint or types gives its reason",
    check: (tree) =>
      findLines(
        filesOf(tree, code).filter(([path]) => !path.startsWith("test/tidy/")),
        /@ts-(?:ignore|expect-error|nocheck)|(?:ox|es)lint-disable/,
        "say why after --",
        /-- \S/,
      ),
  },
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
    name: "no service imports another, and the gateway imports none",
    check: (tree) =>
      importFindings(tree, product, (path, imported) => {
        const target = serviceNames.find((name) => imported.startsWith(`services/${name}/`));
        return target !== undefined && !path.startsWith(`services/${target}/`)
          ? `call ${target} as a client`
          : undefined;
      }),
  },
  {
    name: "the kit imports no service and no generated service",
    check: (tree) =>
      importFindings(tree, /^services\/kit\/.*\.ts$/, (_path, imported) =>
        (imported.startsWith("services/") && !imported.startsWith("services/kit/")) ||
        /^gen\/quartet\/(?!traits\/|kit\/|jobs\/)/.test(imported)
          ? `the kit knows nothing of ${imported}`
          : undefined,
      ),
  },
  {
    name: "the kit holds no domain word",
    check: (tree) =>
      findLines(
        // A histogram has buckets of its own.
        filesOf(tree, /^services\/kit\/(?!metrics\/).*\.ts$/),
        /\b(?:bucket|profileId|eventBus|object-storage|event-bus|customer-profile|refactoring-workspace|putEvents)\b/i,
        "say it without the service's noun",
        // A doc comment may name a service as an example.
        /^\s*(?:\*|\/\*\*|\/\/)/,
      ),
  },
  {
    name: "domain code imports only domain code, pure engines and generated types",
    check: (tree) =>
      importFindings(tree, /^services\/[a-z-]+\/domain\/.*\.ts$/, (path, imported) => {
        const own = path.split("/").slice(0, 3).join("/");
        const service = own.replace(/domain$/, "");
        const allowed =
          imported.startsWith(`${own}/`) ||
          [`${service}faults.ts`, `${service}limits.ts`].includes(imported) ||
          pureEngines.some((engine) => imported.startsWith(service + engine)) ||
          imported.startsWith("gen/") ||
          /^services\/kit\/(?:faults|arn|clock|ids)\//.test(imported);
        return allowed ? undefined : `${imported} is not domain code`;
      }),
  },
  {
    name: "each RPC has a handler of its name or stands as pending, and no handler is without its RPC",
    check: (tree) =>
      serviceNames.flatMap((service) => {
        const methods = methodsOf(tree, service);
        const waiting = pendingOf(tree, service);
        const operations = filesOf(tree, new RegExp(`^services/${service}/operations/.*\\.ts$`));
        const handlers = exportedNames(operations);
        const path = serviceProto(service);
        return [
          ...methods
            .filter((method) => !handlers.has(method) && !waiting.has(method))
            .map((method) => ({ path, line: 0, message: `${method} has no handler and is not pending` })),
          ...methods
            .filter((method) => handlers.has(method) && waiting.has(method))
            .map((method) => ({ path, line: 0, message: `${method} has a handler and is pending` })),
          ...[...waiting]
            .filter((name) => !methods.includes(name))
            .map((name) => ({ path, line: 0, message: `${name} is pending and no RPC` })),
        ];
      }),
  },
  {
    name: "each handler is named by a test of its service",
    check: (tree) =>
      serviceNames.flatMap((service) => {
        const waiting = pendingOf(tree, service);
        const tests = filesOf(tree, new RegExp(`^test/${service}/.*\\.ts$`))
          .map(([, content]) => content)
          .join("\n");
        return methodsOf(tree, service)
          .filter((method) => !waiting.has(method) && !new RegExp(`\\b${method}\\b`, "i").test(tests))
          .map((method) => ({ path: `test/${service}`, line: 0, message: `no test names ${method}` }));
      }),
  },
  {
    name: "links in documents resolve",
    check: (tree) =>
      filesOf(tree, /\.md$/).flatMap(([path, content]) =>
        [...content.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g)]
          .map((match) => normalize(join(dirname(path), match[1] ?? "")).replace(/\/$/, ""))
          .filter(
            (target) =>
              target !== "." && !tree.has(target) && ![...tree.keys()].some((each) => each.startsWith(`${target}/`)),
          )
          .map((target) => ({ path, line: 0, message: `nothing stands at ${target}` })),
      ),
  },
  {
    name: "npm commands in documents exist",
    check: (tree) => {
      const scripts = Object.keys((JSON.parse(tree.get("package.json") ?? "{}") as { scripts?: object }).scripts ?? {});
      return filesOf(tree, /\.md$/).flatMap(([path, content]) =>
        [...content.matchAll(/\bnpm (?:run (?:--?[\w-]+ )*([\w:]+[\w:-]*)|(start|test)\b)/g)]
          .map((match) => match[1] ?? match[2] ?? "")
          .filter((script) => !scripts.includes(script))
          .map((script) => ({ path, line: 0, message: `package.json has no script ${script}` })),
      );
    },
  },
  {
    name: "each document has one title",
    check: (tree) =>
      filesOf(tree, /\.md$/)
        .filter(([, content]) => content.replaceAll(/```.*?```/gs, "").match(/^# /gm)?.length !== 1)
        .map(([path]) => ({ path, line: 1, message: "a document has exactly one # title" })),
  },
  {
    name: "no source file is dead",
    check: (tree) => {
      const scripts =
        (JSON.parse(tree.get("package.json") ?? "{}") as { scripts?: Record<string, string> }).scripts ?? {};
      const started = Object.values(scripts).flatMap((script) => script.match(/[\w./-]+\.ts/g) ?? []);
      const entries = [...started, ...filesOf(tree, /^test\/.*\.ts$/).map(([path]) => path)];
      const reached = new Set<string>();
      const visit = (path: string): void => {
        if (reached.has(path)) return;
        reached.add(path);
        for (const imported of importsOf(path, tree.get(path) ?? "")) visit(imported);
      };
      entries.forEach(visit);
      return filesOf(tree, product)
        .filter(([path]) => !reached.has(path))
        .map(([path]) => ({ path, line: 0, message: "nothing imports it" }));
    },
  },
];
