import { isBuiltin } from "node:module";
import { dirname, relative } from "node:path";

import type { Plugin } from "rolldown";

/**
 * What bundles change in packages: nothing that they do, but when they do it. A process loads the parts that it uses
 * when it uses them, and most never use most of them.
 */

/** Node's modules that most processes never use; loading one costs 2 to 20 ms of a start. */
const seldomUsed = ["node:http2", "node:https", "node:readline", "node:sqlite", "node:vm", "node:worker_threads"];

/**
 * Imports Node's modules as objects. As namespaces all their members would be read, also those by which `node:http`
 * loads an HTTP client that no process uses: 40 ms and 7 MiB for each.
 */
export const builtinObjects: Plugin = {
  name: "builtin-objects",
  // The bundler's own code needs this one as a namespace.
  resolveId: (id) => (isBuiltin(id) && id !== "node:module" ? `\0${withScheme(id)}` : null),
  load: (id) => {
    if (!id.startsWith("\0") || !isBuiltin(id.slice(1))) return null;
    const builtin = `process.getBuiltinModule(${JSON.stringify(id.slice(1))})`;
    if (!seldomUsed.includes(id.slice(1))) return `module.exports = ${builtin};`;
    const names = Object.keys(process.getBuiltinModule(id.slice(1)) ?? {});
    const members = names.map((name) => `get ${name}() { return (builtin ??= ${builtin}).${name}; }`);
    return `let builtin; module.exports = { ${members.join(", ")} };`;
  },
};

const withScheme = (id: string): string => (id.startsWith("node:") ? id : `node:${id}`);

/** The exports of undici that the sources use, and the module of the package that each of them is. */
const undiciExports: Readonly<Record<string, string>> = {
  Agent: 'dispatcher(require("./lib/dispatcher/agent"))',
  Client: 'dispatcher(require("./lib/dispatcher/client"))',
  Pool: 'dispatcher(require("./lib/dispatcher/pool"))',
  buildConnector: 'require("./lib/core/connect")',
};

/** Those that are as large as all others together, for the programs that use them. */
const largeUndiciExports: Readonly<Record<string, string>> = { fetch: 'require("./lib/web/fetch").fetch' };

/** The programs that use them. */
const withLargeExports: ReadonlySet<string> = new Set(["gateway"]);

/**
 * Loads the parts of undici that a program uses, when it uses them. Its own index loads all of them, the browser's
 * `fetch`, caches, cookies and mocks as well. Throws if a source imports a part that is not in the table.
 */
export const lazyUndici = (program: string): Plugin => {
  const offered = withLargeExports.has(program) ? { ...undiciExports, ...largeUndiciExports } : undiciExports;
  return {
    name: "lazy-undici",
    load: {
      filter: { id: /\/node_modules\/undici\/index\.js$/ },
      handler: () =>
        [
          "let hasMethods = false;",
          "const dispatcher = (made) => {",
          '  if (!hasMethods) Object.assign(require("./lib/dispatcher/dispatcher").prototype, require("./lib/api"));',
          "  hasMethods = true;",
          "  return made;",
          "};",
          "module.exports = {",
          ...Object.entries(offered).map(([name, made]) => `  get ${name}() { return ${made}; },`),
          "};",
        ].join("\n"),
    },
    transform: {
      filter: { code: 'from "undici"', id: /\.ts$/ },
      handler: (code, id) => {
        for (const [, names = ""] of code.matchAll(/import \{([^}]*)\} from "undici"/g))
          for (const name of names.split(",").map((each) => each.trim()))
            if (name !== "" && offered[name] === undefined)
              throw new Error(`${id} imports ${name} of undici, which is not in the bundle of ${program}`);
      },
    },
  };
};

/** Leaves out undici's second parser, which only a variable of the environment turns on: 165 KB of each program. */
export const onlyFirstParser: Plugin = {
  name: "only-first-parser",
  load: {
    filter: { id: /\/node_modules\/undici\/lib\/milo\/(?:no-)?simd\.js$/ },
    handler: () => "module.exports = {};",
  },
  transform: {
    filter: { id: /\/node_modules\/undici\/lib\/dispatcher\/parser-h1\.js$/ },
    handler: (code) => {
      const asked = "process.env.UNDICI_USE_MILO === '1' || process.env.UNDICI_USE_MILO === 'true'";
      return { code: replaced(code, asked, "false"), map: null };
    },
  },
};

/** Loads undici's HTTP/2 client, and with it Node's, for the first server that offers HTTP/2: no call of ours does. */
export const lazyHttp2Client: Plugin = {
  name: "lazy-http2-client",
  transform: {
    filter: { id: /\/node_modules\/undici\/lib\/dispatcher\/client\.js$/ },
    handler: (code) => {
      const load = "require('./client-h2.js')";
      const late = `const connectH2 = (client, socket) => ${load}(client, socket)`;
      return { code: replaced(code, `const connectH2 = ${load}`, late), map: null };
    },
  },
};

const eagerHeaders = /this\.metadata = new Headers\((.+)\);/;

/**
 * Makes the headers of a connect error when they are read: the global `Headers` loads the HTTP client inside Node, 40
 * ms and 7 MiB of a process, and a start in which processes wait for each other has such errors.
 */
export const lazyErrorHeaders: Plugin = {
  name: "lazy-error-headers",
  transform: {
    filter: { id: /\/@connectrpc\/connect\/.*\/connect-error\.js$/ },
    handler: (code) => {
      if (!eagerHeaders.test(code)) throw new Error("connect errors no longer make their headers as expected");
      const lazy = `let headers;
        Object.defineProperty(this, "metadata", {
          configurable: true,
          enumerable: true,
          get: () => (headers ??= new Headers($1)),
          set: (value) => { headers = value; },
        });`;
      return { code: code.replace(eagerHeaders, lazy), map: null };
    },
  },
};

/** Replaces text in the code of a package. Throws if the package has changed, so that nobody relies on it unnoticed. */
const replaced = (code: string, from: string, to: string): string => {
  if (code.split(from).length !== 2) throw new Error(`a package no longer has, once: ${from}`);
  return code.replace(from, () => to);
};

/**
 * Makes the descriptors of a message's fields when they are read: for all messages of all files they are a fifth of the
 * gateway's start, and most messages are never sent.
 */
export const lazyFields: Plugin = {
  name: "lazy-fields",
  transform: {
    filter: { id: /\/@bufbuild\/protobuf\/dist\/esm\/registry\.js$/ },
    handler: (code) => {
      const members = ["fields", "field", "oneofs", "members"];
      const withoutMembers = replaced(
        code,
        "fields: [],\n        field: {},\n        oneofs: [],\n        members: [],\n        nestedEnums",
        "__proto__: lazyMessage,\n        own: undefined,\n        source: undefined,\n        nestedEnums",
      );
      const withoutChildren = replaced(
        withoutMembers,
        "    for (const child of message.nestedMessages) {\n        addFields(child, reg, mapEntries);\n    }\n",
        "",
      );
      const renamed = replaced(withoutChildren, "function addFields(message,", "function addFieldsNow(message,");
      const lazy = `
        const lazyMessage = { ${members.map((name) => `get ${name}() { return ownOf(this).${name}; }`).join(", ")} };
        function ownOf(message) {
          if (message.own === undefined) {
            message.own = { fields: [], field: {}, oneofs: [], members: [] };
            const { reg, mapEntries } = message.source;
            message.source = undefined;
            addFieldsNow(message, reg, mapEntries);
          }
          return message.own;
        }
        function addFields(message, reg, mapEntries) {
          message.source = { reg, mapEntries };
          for (const child of message.nestedMessages) addFields(child, reg, mapEntries);
        }`;
      return { code: `${renamed}${lazy}`, map: null };
    },
  },
};

/**
 * Decodes the fields in the descriptor of a message when they are read, and gives them their JSON names then: they are
 * most of a file's descriptor, and a start reads those of few messages.
 */
export const lazyFieldDescriptors: Plugin = {
  name: "lazy-field-descriptors",
  transform: {
    filter: { id: /\/@bufbuild\/protobuf\/dist\/esm\/(?:from-binary|codegenv2\/restore-json-names)\.js$/ },
    handler: (code, id) => {
      const transformed = id.endsWith("from-binary.js") ? withLateFields(code) : withLateNames(code);
      return { code: transformed, map: null };
    },
  },
};

const withLateFields = (code: string): string => {
  const begin = "function compileListFieldReader(field) {\n";
  const isLate = 'String(field.parent) === "message google.protobuf.DescriptorProto" && field.name === "field"';
  return `${replaced(code, begin, `${begin}    if (${isLate}) return readLate(field.message);\n`)}
    // Declared so because descriptors may be read before this module has run.
    var lateFields;
    export function lateFieldsOf(message) { return lateFields?.get(message); }
    function readLate(schema) { return (message, reader) => {
      lateFields ??= new WeakMap();
      const known = lateFields.get(message);
      if (known !== undefined) return void known.encoded.push(reader.bytes());
      const late = { encoded: [reader.bytes()], restore: undefined };
      lateFields.set(message, late);
      const keep = (value) => {
        lateFields.delete(message);
        Object.defineProperty(message, "field", { configurable: true, enumerable: true, writable: true, value });
        return value;
      };
      const read = () => {
        const fields = late.encoded.map((bytes) => fromBinary(schema, bytes));
        late.restore?.(fields);
        return keep(fields);
      };
      Object.defineProperty(message, "field", { configurable: true, enumerable: true, get: read, set: keep });
    }; }`;
};

const withLateNames = (code: string): string => {
  const loop = "    for (const f of message.field) {\n";
  const once = `    const late = lateFieldsOf(message);
    if (late === undefined) restoreFields(message.field);
    else late.restore = restoreFields;
    message.nestedType.forEach(restoreJsonNames);
}
function restoreFields(fields) {
    for (const f of fields) {\n`;
  const recursion = "\n    message.nestedType.forEach(restoreJsonNames);\n}";
  const source = JSON.stringify("../from-binary.js");
  return `import { lateFieldsOf } from ${source};\n${replaced(replaced(code, recursion, "\n}"), loop, once)}`;
};

/** Loads the native part of the database from its package, whose other modules are bundled. */
export const nativeLevel = (directory: string): Plugin => ({
  name: "native-level",
  load: {
    filter: { id: /\/node_modules\/classic-level\/binding\.js$/ },
    handler: (id) => {
      const place = JSON.stringify(relative(directory, dirname(id)));
      return `const own = process.getBuiltinModule("node:path").join(import.meta.dirname, ${place});
        module.exports = process.getBuiltinModule("node:module").createRequire(own + "/")("node-gyp-build")(own);`;
    },
  },
});

/**
 * Makes a function of what a program's script does after its imports, because scripts that wait are modules, and V8
 * keeps the code that has run only of scripts that are none. The export `ended` settles with it.
 */
export const mainPromise = (script: string): Plugin => ({
  name: "main-promise",
  transform: {
    handler: (code, id) => {
      if (id !== script) return null;
      const imports = /^(?:import [^;]+ from "[^"]+"(?: with \{[^}]*\})?;\s*)+/.exec(code)?.[0] ?? "";
      const body = code.slice(imports.length);
      return { code: `${imports}export const ended = (async () => {${body}})();`, map: null };
    },
  },
});
