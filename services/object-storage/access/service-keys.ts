/** The condition keys that only this service has; those that end with `/` go on with a tag's key. */
const serviceKeys = [
  "s3:resourceaccount",
  "aws:resourceaccount",
  "s3:versionid",
  "s3:x-amz-copy-source",
  "s3:dataaccesspointarn",
  "s3:dataaccesspointaccount",
  "s3:requestobjecttagkeys",
  "s3:requestobjecttag/",
  "s3:existingobjecttag/",
  "s3:object-lock-mode",
  "s3:object-lock-legal-hold",
  "s3:object-lock-retain-until-date",
  "s3:object-lock-remaining-retention-days",
  "aws:requesttag/",
  "aws:tagkeys",
] as const;

type Suffixed<Key extends string> = Key extends `${string}/` ? `${Key}${string}` : Key;

/** A condition key that only this service has. */
export type ServiceKey = Suffixed<(typeof serviceKeys)[number]>;

/** Whether a key is one that only this service has; it is in lower case and in the public dialect. */
export const isServiceKey = (key: string): key is ServiceKey =>
  serviceKeys.some((known) => (known.endsWith("/") ? key.startsWith(known) && key !== known : key === known));
