/** Path prefixes of the gateway: a bucket of such a name could not be reached. */
const reservedNames = new Set(["customer-profile", "refactoring-workspace", "event-bus", "object-storage"]);

/**
 * Whether a name follows the rules: 3 to 63 lower-case letters, digits, hyphens and dots; each label between dots
 * begins and ends with a letter or digit; not an IPv4 address; without the prefixes and suffixes of access points, and
 * not one of the gateway's path prefixes.
 */
export const isBucketName = (name: string): boolean =>
  name.length >= 3 &&
  name.length <= 63 &&
  name.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label)) &&
  !/^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) &&
  !/^(?:xn--|sthree-|amzn-s3-demo-)/.test(name) &&
  !/(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/.test(name) &&
  !reservedNames.has(name);

/** Whether the text is an ARN, for example of an access point, instead of a bucket's name. */
export const isBucketArn = (text: string): boolean => text.startsWith("arn:");
