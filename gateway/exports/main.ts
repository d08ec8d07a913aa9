import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { amzDialect } from "../dialects/amz.ts";
import { spellingOf } from "../dialects/dialect.ts";
import { svcDialect } from "../dialects/svc.ts";
import { botocoreModel, modelVersion } from "./botocore.ts";
import { readFlags } from "./flags.ts";
import { exportSources } from "./export-source.ts";
import { openApiDocument } from "./openapi.ts";
import { readProtoComments } from "./proto-comments.ts";

/**
 * `npm run export -- --out DIR`: writes documents from which other tools create clients, from the descriptors that the
 * gateway serves.
 *
 *     DIR/openapi/<api>.json                          an OpenAPI 3.1 document
 *     DIR/botocore/<api>/<version>/service-2.json     a botocore model, with its paginators
 *
 * `--dialect amz` writes them in the public dialect, `--brand-word` for an installation with a word of its own.
 */
const usage = "usage: npm run export -- --out DIR [--dialect svc|amz] [--brand-word WORD]";
const values = readFlags(usage, {
  out: { type: "string" },
  dialect: { type: "string", default: "svc" },
  "brand-word": { type: "string", default: "svc" },
});
const dialects = { svc: svcDialect(values["brand-word"]), amz: amzDialect };
const dialect = Object.entries(dialects).find(([name]) => name === values.dialect)?.[1];
if (values.out === undefined || dialect === undefined) {
  process.stderr.write(`${usage}\n`);
  process.exit(2);
}

const write = async (directory: string, name: string, document: unknown): Promise<void> => {
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, name), `${JSON.stringify(document, undefined, 2)}\n`);
};

for (const source of exportSources(spellingOf(dialect), readProtoComments())) {
  const { service, paginators } = botocoreModel(source);
  const models = join(values.out, "botocore", source.api.name, modelVersion);
  await write(models, "service-2.json", service);
  await write(models, "paginators-1.json", paginators);
  await write(join(values.out, "openapi"), `${source.api.name}.json`, openApiDocument(source));
}
process.stdout.write(`wrote ${Object.keys(dialect.signingNames).length} APIs to ${values.out}\n`);
