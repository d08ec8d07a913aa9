import * as z from "zod";

import type { NamedKey } from "./key-names.ts";
import { partsOf } from "./key-names.ts";

const idPattern = /^(arn:[a-z][a-z0-9-]*:kms:[a-z0-9-]+:[0-9]{12}:key\/)?[A-Za-z0-9-]{1,128}$/;

const key = z
  .strictObject({
    id: z
      .string()
      .regex(idPattern, "must have 1 to 128 letters, digits or hyphens, or be the ARN of such a key")
      .describe("Its id, or its ARN: then only names of that region and account mean it."),
    aliases: z
      .array(
        z
          .string()
          .regex(
            /^alias\/[A-Za-z0-9/_-]{1,250}$/,
            'must have the form "alias/" and 1 to 250 letters, digits, "/", "_" or "-"',
          )
          .describe("An alias."),
      )
      .default([])
      .describe("Further names; each means this key."),
    state: z.enum(["ENABLED", "DISABLED", "PENDING_DELETION"]).default("ENABLED").describe("Whether it may be used."),
  })
  .describe("One key.");

/** A name means one key. */
const refuseDuplicates = (keys: readonly NamedKey[], context: z.RefinementCtx<readonly NamedKey[]>): void => {
  const seen = new Set<string>();
  const note = (name: string, ...path: Array<string | number>): void => {
    if (seen.has(name)) context.addIssue({ code: "custom", path, message: "is declared twice" });
    seen.add(name);
  };
  keys.forEach(({ id, aliases }, index) => {
    note(partsOf(id).local, index, "id");
    aliases.forEach((alias, at) => note(alias, index, "aliases", at));
  });
};

/** The section of the configuration file that declares keys. */
export const keySections = {
  keys: z
    .array(key)
    .superRefine(refuseDuplicates)
    .describe("The keys that may be named, and no others. Left out: each name is a key of its own."),
};
