import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { variableName } from "../../services/kit/config/config.ts";
import { formatValue, isSecret } from "../../services/kit/config/setting.ts";
import type { SettingsTable } from "../../services/kit/config/setting.ts";
import { processNames } from "../../services/launcher/processes.ts";
import { installation } from "../../services/launcher/settings.ts";
import { amzDialect } from "../dialects/amz.ts";
import { spellingOf } from "../dialects/dialect.ts";
import { readFlags } from "./flags.ts";
import { exportSources, titleOf } from "./export-source.ts";
import { readProtoComments } from "./proto-comments.ts";
import { referencePage, table } from "./reference.ts";

/**
 * `npm run reference`: writes `docs/reference` from the contract and the declared settings: a page of operations for
 * each API, and one of all settings. `npm run check` fails when the pages are not what would be written.
 */
const values = readFlags("usage: npm run reference -- [--out DIR]", {
  out: { type: "string", default: join(import.meta.dirname, "..", "..", "docs", "reference") },
});

const settingsRows = (settings: SettingsTable, process?: string): string[][] =>
  Object.entries(settings).map(([name, setting]) => [
    `\`${name}\``,
    `\`${variableName(name, process)}\``,
    isSecret(setting) ? "" : `\`${formatValue(setting.parse(undefined)) || '""'}\``,
    setting.description ?? "",
  ]);

const settingsPage = (): string =>
  [
    "# Settings",
    "",
    "Made from the declarations by `npm run reference`; [how they are given](../../services/CONFIGURATION.md).",
    "",
    "## Of all processes",
    "",
    ...table(["name", "variable", "default", "what"], settingsRows(installation.shared)),
    "",
    ...processNames.flatMap((name) => [
      `## Of ${name}`,
      "",
      ...table(["name", "variable", "default", "what"], settingsRows(installation.processes[name], name)),
      "",
    ]),
  ].join("\n");

await mkdir(values.out, { recursive: true });
const sources = exportSources(spellingOf(amzDialect), readProtoComments());
for (const source of sources) await writeFile(join(values.out, `${source.api.name}.md`), referencePage(source));
await writeFile(join(values.out, "settings.md"), settingsPage());
const index = [
  "# Reference",
  "",
  "Made by `npm run reference`.",
  "",
  ...sources.map(({ api }) => `- [${titleOf(api.name)}: operations](${api.name}.md)`),
  "- [Settings](settings.md)",
  "- [Metrics](../../services/kit/metrics/README.md)",
  "",
].join("\n");
await writeFile(join(values.out, "README.md"), index);
