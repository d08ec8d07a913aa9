import type { Installation } from "./config-file.ts";
import { schemaMember, sectionName } from "./config-file.ts";
import type { Setting, SettingsTable } from "./setting.ts";
import { formatValue } from "./setting.ts";
import type { JsonSchema } from "./shape.ts";

/** The JSON Schema of an installation's configuration file, made from the same declarations that check it. */
export const configSchema = (installation: Installation, title: string): JsonSchema => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title,
  type: "object",
  properties: {
    [schemaMember]: { type: "string", description: "The schema that an editor checks this file by." },
    ...settingSchemas(installation.shared),
    ...Object.fromEntries(
      Object.entries(installation.processes).map(([name, own]) => [
        sectionName(name),
        {
          type: "object",
          properties: settingSchemas(own),
          additionalProperties: false,
          description: `Settings of ${name}.`,
        },
      ]),
    ),
    ...Object.fromEntries(Object.entries(installation.sections ?? {}).map(([name, shape]) => [name, shape.schema])),
  },
  additionalProperties: false,
});

const settingSchemas = (table: SettingsTable): JsonSchema =>
  Object.fromEntries(Object.entries(table).map(([name, setting]) => [name, settingSchema(setting)]));

const settingSchema = ({ schema, describe, fallback, isSecret }: Setting<unknown>): JsonSchema => ({
  ...schema,
  ...(isSecret ? {} : { default: schema["type"] === "string" ? formatValue(fallback) : fallback }),
  description: describe,
});
