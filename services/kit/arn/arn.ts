/** The six parts of a resource name: `arn:<partition>:<service>:<region>:<account>:<resource>`. */
export interface Arn {
  /** The dialect's name, for example `aws` or `svc`. Never empty. */
  readonly partition: string;
  /** Never empty. */
  readonly service: string;
  /** Empty for a resource of no region. */
  readonly region: string;
  /** 12 digits, or empty for a resource of no account. */
  readonly account: string;
  /** Everything after the fifth colon, colons and slashes included. Never empty. */
  readonly resource: string;
}

/** Formats a resource name. */
export const arn = (parts: Arn): string =>
  `arn:${parts.partition}:${parts.service}:${parts.region}:${parts.account}:${parts.resource}`;

/** A resource name with the public partition in place of its own; any other text as it is. */
export const inPublicPartition = (text: string): string => text.replace(/^arn:[a-z0-9-]+:/, "arn:aws:");

const shape =
  /^arn:(?<partition>[a-z][a-z0-9-]*):(?<service>[a-z0-9][a-z0-9-]*):(?<region>[a-z0-9-]*):(?<account>[0-9]{12}|aws)?:(?<resource>[^\s\p{Cc}](?:.*\S)?)$/u;

/** Parses a resource name of any partition. Undefined if the text is not one. */
export const parseArn = (text: string): Arn | undefined => {
  const groups = shape.exec(text)?.groups;
  if (groups === undefined) return undefined;
  return {
    partition: groups["partition"] ?? "",
    service: groups["service"] ?? "",
    region: groups["region"] ?? "",
    account: groups["account"] ?? "",
    resource: groups["resource"] ?? "",
  };
};
