import { ConfigError } from "../config/config-error.ts";
import type { Shape } from "../config/shape.ts";
import { choiceShape, listShape, objectShape, textShape } from "../config/shape.ts";
import type { NamedKey } from "./key-names.ts";
import { partsOf } from "./key-names.ts";

const keyShape = objectShape(
  "One key.",
  {
    id: textShape(
      "Its id, or its ARN: then only names of that region and account mean it.",
      /^(arn:[a-z][a-z0-9-]*:kms:[a-z0-9-]+:[0-9]{12}:key\/)?[A-Za-z0-9-]{1,128}$/,
      "1 to 128 letters, digits or hyphens, or be the ARN of such a key",
    ),
  },
  {
    aliases: listShape(
      "Further names; each means this key.",
      textShape(
        "An alias.",
        /^alias\/[A-Za-z0-9/_-]{1,250}$/,
        'the form "alias/" and 1 to 250 letters, digits, "/", "_" or "-"',
      ),
    ),
    state: choiceShape("Whether it may be used. Left out: ENABLED.", ["ENABLED", "DISABLED", "PENDING_DELETION"]),
  },
);

const keysShape = listShape(
  "The keys that may be named, and no others. Left out: each name is a key of its own.",
  keyShape,
);

/** The section of the configuration file that declares keys. */
export const keySections: { readonly keys: Shape<readonly NamedKey[]> } = {
  keys: {
    schema: keysShape.schema,
    read: (value, path) => {
      const keys = keysShape
        .read(value, path)
        .map(({ id, aliases = [], state = "ENABLED" }) => ({ id, aliases, state }));
      refuseTwice(keys, path);
      return keys;
    },
  },
};

/** What names a key must name one. */
const refuseTwice = (keys: readonly NamedKey[], path: string): void => {
  const seen = new Set<string>();
  const note = (name: string, place: string): void => {
    if (seen.has(name)) throw new ConfigError(`${place} stands there twice`);
    seen.add(name);
  };
  keys.forEach(({ id, aliases }, index) => {
    note(partsOf(id).local, `${path}[${index}].id`);
    aliases.forEach((alias, at) => note(alias, `${path}[${index}].aliases[${at}]`));
  });
};
