/** How texts are spelled before they are compared, so that dialects are equal in policies. */
export interface PolicySpelling {
  readonly action: (written: string) => string;
  readonly arn: (written: string) => string;
  readonly key: (written: string) => string;
}

/** The names of a service in policies. */
export interface ServiceNames {
  /** The prefix of its actions and condition keys, and the service of its ARNs, in the public dialect: `s3`. */
  readonly public: string;
  /** The same in the documented dialect, which may have other words. */
  readonly documented: string;
}

/** Compares texts as they are written. */
export const asWritten: PolicySpelling = { action: (text) => text, arn: (text) => text, key: (text) => text };

/** Keys that are named after a header have the documented word in it: `x-svc-server-side-encryption-svc-kms-key-id`. */
const publicHeader = (key: string): string => key.replace(/:x-svc-/i, ":x-amz-").replace(/-svc-/i, "-aws-");

/**
 * Reads the names of both dialects as those of the public one: the service's prefixes, the partition `svc` as `aws`,
 * and condition keys that begin with `svc:` as those that begin with `aws:`.
 */
export const spellingOf = (names: ServiceNames): PolicySpelling => {
  const documentedPrefix = `${names.documented}:`;
  const prefixed = (text: string): string =>
    text.toLowerCase().startsWith(documentedPrefix) ? `${names.public}:${text.slice(documentedPrefix.length)}` : text;
  return {
    action: prefixed,
    key: (written) => (/^svc:/i.test(written) ? `aws:${written.slice(4)}` : publicHeader(prefixed(written))),
    arn: (written) => {
      if (!written.startsWith("arn:")) return written;
      const serviceAt = written.indexOf(":", 4) + 1;
      if (serviceAt === 0) return written;
      const partition = written.slice(4, serviceAt - 1);
      const found = written.indexOf(":", serviceAt);
      const end = found === -1 ? written.length : found;
      const isDocumented = written.slice(serviceAt, end) === names.documented;
      // Most ARNs are spelled so already, and this is asked for every call.
      if (partition !== "svc" && !isDocumented) return written;
      const service = isDocumented ? names.public : written.slice(serviceAt, end);
      return `arn:${partition === "svc" ? "aws" : partition}:${service}${written.slice(end)}`;
    },
  };
};
