import { accessKeyIdPattern, secretAccessKeyLengthMin, userNamePattern } from "../identity/access-keys.ts";
import type { ShapeOf } from "../config/shape.ts";
import {
  documentShape,
  listShape,
  mapShape,
  objectShape,
  oneOfShape,
  textOrObjectShape,
  textShape,
} from "../config/shape.ts";

const accountIdPattern = /^[0-9]{12}$/;
const accountIdShape = (description: string) => textShape(description, accountIdPattern, "12 digits");
const pathShape = (description: string) => textShape(description, /^.+$/, "at least one character");

const policyShape = (description: string) =>
  textOrObjectShape(
    `${description} A JSON object, or the path of a file that holds one, relative to this file.`,
    pathShape("Path of a file."),
    documentShape("The policy document."),
  );

const secretShape = textOrObjectShape(
  "The secret with which requests are signed, or where it is found.",
  textShape(
    "The secret itself.",
    new RegExp(`^.{${secretAccessKeyLengthMin},}$`),
    `at least ${secretAccessKeyLengthMin} characters`,
  ),
  oneOfShape("Where the gateway finds the secret.", {
    environment: textShape(
      "Name of an environment variable of the gateway.",
      /^(?!QUARTET_)[A-Za-z_][A-Za-z0-9_]*$/,
      "letters, digits or underscores, and no QUARTET_ in front",
    ),
    file: pathShape("Path of a file, relative to this one; a line end behind the secret does not count."),
  }),
);

const accessKeysShape = listShape(
  "Access keys; signing with one is acting as whom it belongs to.",
  objectShape(
    "One access key.",
    {
      id: textShape("The access key id.", accessKeyIdPattern, '1 to 128 letters, digits, "_", "." or "-"'),
      secret: secretShape,
    },
    {},
  ),
);

const policiesShape = listShape("Identity policies; without one nothing is allowed.", policyShape("One policy."));

const userShape = objectShape(
  "A user of the account.",
  { name: textShape("The user's name, with its path.", userNamePattern, '1 to 128 letters, digits or "+=,.@_/-"') },
  { policies: policiesShape, accessKeys: accessKeysShape },
);

const accountShape = objectShape(
  "One account.",
  {},
  {
    name: textShape("What people call it.", /^.{1,128}$/, "1 to 128 characters"),
    email: textShape("Its address, by which grants may name it.", /^[^@\s]+@[^@\s]+$/, 'the form "name@host"'),
    canonicalId: textShape(
      "The id by which object owners and grants name it. Left out: one is derived from the account's id.",
      /^[0-9a-f]{64}$/,
      "64 hexadecimal digits in lower case",
    ),
    accessKeys: accessKeysShape,
    users: listShape("Its users.", userShape),
  },
);

const roleShape = objectShape(
  "A role that others take on.",
  {
    account: accountIdShape("The account that it belongs to."),
    name: textShape("Its name.", /^[A-Za-z0-9+=,.@_-]{1,64}$/, '1 to 64 letters, digits or "+=,.@_-"'),
    trustPolicy: policyShape("Who may take it on: a policy with principals and without resources."),
  },
  { policies: policiesShape },
);

const organizationShape = objectShape(
  "One organization.",
  {
    accounts: listShape("Its members. An account is in one organization at most.", accountIdShape("An account's id.")),
  },
  {},
);

/** The sections of the configuration file that declare who there is. */
export const accountSections = {
  accounts: mapShape("The accounts of the installation, by their ids.", accountIdPattern, "12 digits", accountShape),
  roles: listShape("Roles with their trust.", roleShape),
  organizations: mapShape(
    "Organizations, by their ids.",
    /^o-[a-z0-9]{10,32}$/,
    "o- and 10 to 32 letters or digits",
    organizationShape,
  ),
};

export type DeclaredAccount = ShapeOf<typeof accountShape>;
export type DeclaredUser = ShapeOf<typeof userShape>;
export type DeclaredAccessKey = NonNullable<DeclaredAccount["accessKeys"]>[number];
export type DeclaredPolicy = NonNullable<DeclaredUser["policies"]>[number];
