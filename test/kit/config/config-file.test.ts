import { expect, test } from "vitest";
import * as z from "zod";

import { configSchema } from "../../../services/kit/config/config-file.ts";
import { address, choice, integer, list, secret, text } from "../../../services/kit/config/config.ts";

test("the schema of a configuration file names all settings and sections with their defaults, and no others", () => {
  const installation = {
    shared: { dataDir: text("./data", "Data."), secretKey: secret("Key."), level: choice(["info", "warn"], "Level.") },
    processes: {
      "object-storage": {
        listen: address("127.0.0.1:50054", "Listen."),
        partsMax: integer(10, "Parts.", 1, 100),
        hosts: list(["localhost"], "Hosts."),
      },
    },
    sections: { pens: z.record(z.string().regex(/^[0-9]+$/), z.string().describe("A colour.")).describe("Pens.") },
  };
  expect(configSchema(installation, "A file")).toEqual({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "A file",
    type: "object",
    properties: {
      $schema: { type: "string", description: "The schema that an editor checks this file by." },
      dataDir: { type: "string", default: "./data", description: "Data." },
      secretKey: { type: "string", default: "", description: "Key.", writeOnly: true },
      level: { type: "string", enum: ["info", "warn"], default: "info", description: "Level." },
      objectStorage: {
        type: "object",
        properties: {
          listen: { type: "string", default: "127.0.0.1:50054", description: "Listen." },
          partsMax: { type: "integer", minimum: 1, maximum: 100, default: 10, description: "Parts." },
          hosts: { type: "array", items: { type: "string" }, default: ["localhost"], description: "Hosts." },
        },
        additionalProperties: false,
        description: "Settings of object-storage.",
      },
      pens: {
        type: "object",
        propertyNames: { type: "string", pattern: "^[0-9]+$" },
        additionalProperties: { type: "string", description: "A colour." },
        description: "Pens.",
      },
    },
    additionalProperties: false,
  });
});
