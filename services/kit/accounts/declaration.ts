import * as z from "zod";

import { accessKeyIdPattern, secretAccessKeyLengthMin, userNamePattern } from "../identity/access-keys.ts";

/** A text that matches a pattern; `expected` completes the refusal "… must have". */
const textOf = (pattern: RegExp, expected: string, description: string) =>
  z.string().regex(pattern, `must have ${expected}`).describe(description);

const accountIdPattern = /^[0-9]{12}$/;
const accountId = (description: string) => textOf(accountIdPattern, "12 digits", description);
const path = (description: string) => z.string().min(1, "must have at least one character").describe(description);

const policy = (description: string) =>
  z
    .union([path("Path of a file."), z.looseObject({}).describe("The policy document.")])
    .describe(`${description} A JSON object, or the path of a file that holds one, relative to this file.`);

const secretSource = z
  .strictObject({
    environment: textOf(
      /^(?!QUARTET_)[A-Za-z_][A-Za-z0-9_]*$/,
      "letters, digits or underscores, and no QUARTET_ in front",
      "Name of an environment variable of the gateway.",
    ).optional(),
    file: path("Path of a file, relative to this one; a line end after the secret does not count.").optional(),
  })
  .refine((source) => Object.keys(source).length === 1, "must have exactly one of environment, file")
  .meta({ description: "Where the gateway finds the secret.", minProperties: 1, maxProperties: 1 });

const secret = z
  .union([
    z
      .string()
      .min(secretAccessKeyLengthMin, `must have at least ${secretAccessKeyLengthMin} characters`)
      .describe("The secret itself."),
    secretSource,
  ])
  .describe("The secret with which requests are signed, or where it is found.");

const accessKey = z
  .strictObject({
    id: textOf(accessKeyIdPattern, '1 to 128 letters, digits, "_", "." or "-"', "The access key id."),
    secret,
  })
  .describe("One access key.");

const mfaSecret = textOf(/^[A-Za-z2-7]{16,128}=*$/, "16 to 128 characters of base32", "The secret itself, in base32.");

const mfaDevice = z
  .strictObject({
    serial: textOf(/^[A-Za-z0-9=/:,.@_-]{9,256}$/, '9 to 256 letters, digits or "=/:,.@_-"', "Its serial number."),
    secret: z
      .union([
        mfaSecret,
        z.strictObject({ file: path("Path of a file, relative to this one, that holds it in base32.") }),
      ])
      .describe("The secret that it shares with the installation, or where it is found."),
  })
  .describe("A device that shows a code of six digits every 30 seconds (RFC 6238).");

const accessKeys = z.array(accessKey).describe("Access keys; whoever signs with one acts as its owner.");
const policies = z.array(policy("One policy.")).describe("Identity policies; without one nothing is allowed.");

const tags = z
  .record(z.string().regex(/^.{1,128}$/u), z.string().max(256, "must have at most 256 characters"))
  .describe("Tags, for which policies may ask as aws:PrincipalTag/<key>; at most 50.")
  .refine((map) => Object.keys(map).length <= 50, "must have at most 50 tags");

const user = z
  .strictObject({
    name: textOf(userNamePattern, '1 to 128 letters, digits or "+=,.@_/-"', "The user's name, with its path."),
    policies: policies.optional(),
    accessKeys: accessKeys.optional(),
    tags: tags.optional(),
  })
  .describe("A user of the account.");

const account = z
  .strictObject({
    name: textOf(/^.{1,128}$/, "1 to 128 characters", "Its name for people.").optional(),
    email: textOf(/^[^@\s]+@[^@\s]+$/, 'the form "name@host"', "Its address, by which grants may name it.").optional(),
    canonicalId: textOf(
      /^[0-9a-f]{64}$/,
      "64 hexadecimal digits in lower case",
      "The id by which object owners and grants name it. Left out: one is derived from the account's id.",
    ).optional(),
    accessKeys: accessKeys.optional(),
    mfaDevices: z
      .array(mfaDevice)
      .max(8, "must have at most 8")
      .describe("The devices of its root, with which it changes and uses MFA delete; at most 8.")
      .optional(),
    users: z.array(user).describe("Its users.").optional(),
  })
  .describe("One account.");

const role = z
  .strictObject({
    account: accountId("The account that it belongs to."),
    name: textOf(
      /^(?:[A-Za-z0-9+=,.@_-]{1,128}\/){0,8}[A-Za-z0-9+=,.@_-]{1,64}$/,
      '1 to 64 letters, digits or "+=,.@_-" after its path',
      "Its name, with its path: reader, or service-role/reader. Without it, it is unique in the account.",
    ),
    trustPolicy: policy("Who may assume it: a policy with principals and without resources."),
    policies: policies.optional(),
    tags: tags.optional(),
    maxSessionSeconds: z
      .int()
      .min(3_600, "must be at least 3600")
      .max(43_200, "must be at most 43200")
      .describe("The longest session of it in seconds. Left out: 3600.")
      .optional(),
  })
  .describe("A role that others assume.");

const identityProvider = z
  .strictObject({
    account: accountId("The account whose roles may trust it."),
    issuer: textOf(
      /^https?:\/\/[^\s?#]{1,255}$/,
      "the form https://host/path without query and fragment",
      "The issuer of its tokens. Trust policies name arn:aws:iam::<account>:oidc-provider/<issuer without https://>.",
    ),
    audiences: z
      .array(z.string().min(1))
      .min(1, "must have at least one")
      .describe("The accepted audiences of its tokens."),
    keys: z
      .union([path("Path of a file."), z.looseObject({ keys: z.array(z.looseObject({})) }).describe("The key set.")])
      .describe(
        "Its public keys, a JSON Web Key Set or the path of a file that holds one, relative to this file. Left out: OpenID Connect discovery at the issuer.",
      )
      .optional(),
  })
  .describe("A provider of web identities.");

const organization = z
  .strictObject({
    accounts: z
      .array(accountId("An account's id."))
      .describe("Its members. An account is in one organization at most."),
  })
  .describe("One organization.");

/** An object whose names match a pattern. */
const mapOf = <Value extends z.ZodType>(names: RegExp, expected: string, value: Value, description: string) =>
  z
    .record(z.string().regex(names), value, {
      error: ({ code }) => (code === "invalid_key" ? `must be named with ${expected}` : undefined),
    })
    .describe(description);

/** The sections of the configuration file that declare accounts, roles and organizations. */
export const accountSections = {
  accounts: mapOf(accountIdPattern, "12 digits", account, "The accounts of the installation, by their ids."),
  roles: z.array(role).describe("Roles with their trust."),
  identityProviders: z.array(identityProvider).describe("Providers whose OpenID Connect tokens roles may trust."),
  organizations: mapOf(
    /^o-[a-z0-9]{10,32}$/,
    "o- and 10 to 32 letters or digits",
    organization,
    "Organizations, by their ids.",
  ),
};

export type DeclaredAccount = z.output<typeof account>;
export type DeclaredUser = z.output<typeof user>;
export type DeclaredAccessKey = z.output<typeof accessKey>;
export type DeclaredMfaDevice = z.output<typeof mfaDevice>;
export type DeclaredPolicy = z.output<ReturnType<typeof policy>>;
