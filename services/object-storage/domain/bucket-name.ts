/** Names that the gateway's paths take: a bucket of such a name could not be reached. */
const reservedNames = new Set(["customer-profile", "refactoring-workspace", "event-bus", "object-storage"]);

/**
 * The rules of bucket names: 3 to 63 lower-case letters, digits, hyphens and dots; each label between dots begins and
 * ends with a letter or digit; not written like an IPv4 address; none of the prefixes and suffixes that access points
 * use, and none of the names that the gateway's own paths begin with.
 */
export const isBucketName = (name: string): boolean =>
  name.length >= 3 &&
  name.length <= 63 &&
  name.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label)) &&
  !/^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) &&
  !/^(?:xn--|sthree-|amzn-s3-demo-)/.test(name) &&
  !/(?:-s3alias|--ol-s3|\.mrap|--x-s3|--table-s3)$/.test(name) &&
  !reservedNames.has(name);

/** Whether the text names a bucket by something other than its name: an access point or an on-premises bucket. */
export const isBucketArn = (text: string): boolean => text.startsWith("arn:");
