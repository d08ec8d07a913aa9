import { serviceNames } from "../../../services/launcher/processes.ts";
import { codeOf } from "../comments.ts";
import type { Rule } from "../rule.ts";
import type { Finding, Tree } from "../tree.ts";
import { filesOf } from "../tree.ts";

/** The file that declares a service's RPCs. */
const protoOf = (service: string): string =>
  `proto/quartet/${service.replaceAll("-", "")}/v1/${service.replaceAll("-", "_")}_service.proto`;

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

/** RPC names of a service, in the handlers' spelling. */
const methodsOf = (tree: Tree, service: string): string[] =>
  [...(tree.get(protoOf(service)) ?? "").matchAll(/^\s*rpc (\w+)\(/gm)].map((match) => lowerFirst(match[1] ?? ""));

/** Names that a service declares as known and not offered. */
const pendingOf = (tree: Tree, service: string): Set<string> => {
  const files = filesOf(tree, new RegExp(`^services/${service}/(?:service|pending)\\.ts$`));
  const calls = files.flatMap(([, content]) =>
    [...content.matchAll(/pending\(([^)]*)\)/gs)].map((match) => match[1] ?? ""),
  );
  return new Set(calls.flatMap((call) => [...call.matchAll(/"(\w+)"/g)].map((match) => match[1] ?? "")));
};

/** A handler and the file that exports it. */
interface Handler {
  readonly name: string;
  readonly path: string;
}

/**
 * What the files of a service's operations export: functions by their names, tables of handlers by those of the rows.
 */
const handlersOf = (tree: Tree, service: string): Handler[] =>
  filesOf(tree, new RegExp(`^services/${service}/operations/.*\\.ts$`)).flatMap(([path, content]) =>
    [...content.matchAll(/^export (?:const|async function\*?|function\*?|class) (\w+)(.*)$/gm)].flatMap((match) => {
      const [whole, name = "", rest = ""] = match;
      if (!rest.endsWith("= {")) return [{ name, path }];
      const table = content.slice(match.index + whole.length, content.indexOf("\n}", match.index));
      return [...table.matchAll(/^ {2}(\w+)[:,]/gm)].map((row) => ({ name: row[1] ?? "", path }));
    }),
  );

const handlerFindings = (tree: Tree, service: string): Finding[] => {
  const methods = methodsOf(tree, service);
  const waiting = pendingOf(tree, service);
  const handlers = handlersOf(tree, service);
  const handled = new Set(handlers.map(({ name }) => name));
  const path = protoOf(service);
  return [
    ...methods
      .filter((method) => !handled.has(method) && !waiting.has(method))
      .map((method) => ({ path, line: 0, message: `${method} has no handler and is not pending` })),
    ...methods
      .filter((method) => handled.has(method) && waiting.has(method))
      .map((method) => ({ path, line: 0, message: `${method} has a handler and is pending` })),
    ...[...waiting]
      .filter((name) => !methods.includes(name))
      .map((name) => ({ path, line: 0, message: `${name} is pending and no RPC` })),
    ...handlers
      .filter(({ name }) => !methods.includes(name))
      .map((handler) => ({
        path: handler.path,
        line: 0,
        message: `${handler.name} is no RPC; operations/ holds handlers only`,
      })),
  ];
};

/** The titles of the blocks in a service's tests of operations. */
const blocksOf = (tree: Tree, service: string): string =>
  filesOf(tree, new RegExp(`^test/${service}/operations/.*\\.test\\.ts$`))
    .flatMap(([, content]) => [...content.matchAll(/^\s*describe(?:\.each\(.*?\))?\((["'`])(.*?)\1/gm)])
    .map((match) => match[2])
    .join("\n");

const testFindings = (tree: Tree, service: string): Finding[] => {
  const methods = methodsOf(tree, service);
  const blocks = blocksOf(tree, service);
  return handlersOf(tree, service)
    .filter(({ name }) => methods.includes(name))
    .flatMap(({ name, path }) => {
      const test = path.replace(/^services\//, "test/").replace(/\.ts$/, ".test.ts");
      const named = new RegExp(`\\b${name}\\b`);
      return named.test(codeOf(tree.get(test) ?? "")) || named.test(blocks)
        ? []
        : [{ path: test, line: 0, message: `neither this file nor the title of a block names ${name}` }];
    });
};

export const operationRules: readonly Rule[] = [
  {
    name: "each RPC has a handler of its name or is pending, and no handler is without its RPC",
    check: (tree) => serviceNames.flatMap((service) => handlerFindings(tree, service)),
  },
  {
    name: "each handler is named by the test of its path or by the title of a block",
    check: (tree) => serviceNames.flatMap((service) => testFindings(tree, service)),
  },
];
