import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

import { programVersion } from "../../services/kit/config/usage.ts";
import { readFlags } from "./flags.ts";

/**
 * `npm run stubs -- --out DIR`: writes the sources of packages with the stubs of all services, in Quartet's version.
 *
 *     DIR/python   a Python package with typed messages; needs a Python that has grpcio-tools (--python)
 *     DIR/go       a Go module; needs protoc-gen-go and protoc-gen-go-grpc in a directory (--go-plugins)
 *
 * Without a directory of Go's generators only the Python package is written.
 */
const usage = "usage: npm run stubs -- --out DIR [--python PATH] [--go-plugins DIR] [--go-module NAME]";
const values = readFlags(usage, {
  out: { type: "string" },
  python: { type: "string", default: "python3" },
  "go-plugins": { type: "string" },
  "go-module": { type: "string", default: "quartet/stubs" },
});

const fail = (text: string, status: number): never => {
  process.stderr.write(text);
  process.exit(status);
};

const root = join(import.meta.dirname, "..", "..");
const protos = join(root, "proto");
const out = resolve(values.out ?? fail(`${usage}\n`, 2));

/** The contracts of services that callers reach, with their imports: not stored records, tests and inner services. */
const files = readdirSync(protos, { recursive: true, encoding: "utf8" })
  .filter((path) => path.startsWith("quartet/") && path.endsWith(".proto"))
  .filter((path) => !/^quartet\/(?:kit|test)\/|\/storage\//.test(path))
  .toSorted();

/** Runs a program in the directory of the protos and returns what it printed. */
const run = (program: string, parameters: readonly string[]): string => {
  const { status, stdout, stderr, error } = spawnSync(program, parameters, { cwd: protos, encoding: "utf8" });
  if (status !== 0) fail(`${program} failed: ${error?.message ?? stderr}\n`, 1);
  return stdout;
};

const protoc = (...parameters: string[]): string =>
  run(values.python, ["-m", "grpc_tools.protoc", "--proto_path=.", ...parameters, ...files]);

const licence = (directory: string): void => cpSync(join(root, "LICENSE"), join(directory, "LICENSE"));

if (spawnSync(values.python, ["-c", "import grpc_tools"]).status !== 0)
  fail(`${values.python} has no grpcio-tools: install it there by pip, or name another Python by --python\n`, 1);

const writePython = (directory: string): void => {
  const sources = join(directory, "src");
  mkdirSync(sources, { recursive: true });
  protoc(`--python_out=${sources}`, `--pyi_out=${sources}`, `--grpc_python_out=${sources}`);
  writeFileSync(join(sources, "quartet", "py.typed"), "");
  licence(directory);
  // Generated code needs the version that made it, or a later one.
  const versions = "import google.protobuf, grpc; print(google.protobuf.__version__, grpc.__version__)";
  const [protobuf = "", grpc = ""] = run(values.python, ["-c", versions]).trim().split(" ");
  const dependencies = [`grpcio>=${grpc}`, `protobuf>=${protobuf}`, "googleapis-common-protos>=1.70"];
  writeFileSync(
    join(directory, "pyproject.toml"),
    `[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "quartet-stubs"
version = "${programVersion}"
description = "Stubs of Quartet's services for gRPC."
license = "Apache-2.0"
license-files = ["LICENSE"]
requires-python = ">=3.10"
dependencies = ${JSON.stringify(dependencies)}

[tool.setuptools.packages.find]
where = ["src"]
namespaces = true

[tool.setuptools.package-data]
"*" = ["*.pyi", "py.typed"]
`,
  );
};

/** The version of grpc-go that test/polyglot compiles the stubs with, read from its module. */
const grpcGoVersion = (): string =>
  /google\.golang\.org\/grpc (v[\d.]+)/.exec(readFileSync(join(root, "test/polyglot/go/go.mod"), "utf8"))?.[1] ?? "";

const writeGo = (directory: string, plugins: string, module: string): void => {
  mkdirSync(directory, { recursive: true });
  const packages = files.map((name) => `M${name}=${module}/${name.slice(0, name.lastIndexOf("/"))}`).join(",");
  protoc(
    ...["go", "go-grpc"].flatMap((kind) => [
      `--plugin=protoc-gen-${kind}=${join(plugins, `protoc-gen-${kind}`)}`,
      `--${kind}_out=${directory}`,
      `--${kind}_opt=paths=source_relative,${packages}`,
    ]),
  );
  licence(directory);
  const [protobufGoVersion = ""] = /v[\d.]+/.exec(run(join(plugins, "protoc-gen-go"), ["--version"])) ?? [];
  writeFileSync(
    join(directory, "go.mod"),
    `// Quartet ${programVersion}: tag it v${programVersion}.
module ${module}

go 1.24.0

require (
\tgoogle.golang.org/grpc ${grpcGoVersion()}
\tgoogle.golang.org/protobuf ${protobufGoVersion}
)
`,
  );
};

writePython(join(out, "python"));
if (values["go-plugins"] !== undefined) writeGo(join(out, "go"), resolve(values["go-plugins"]), values["go-module"]);
process.stdout.write(`wrote stubs of ${programVersion} to ${out}\n`);
