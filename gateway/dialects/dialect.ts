import type { WireNames } from "../../services/kit/contract/spellings.ts";
import { documentedNames } from "../../services/kit/contract/spellings.ts";
import type { SignatureBrand } from "../signature/brand.ts";

/** The two spellings of each API. */
export type DialectName = "svc" | "amz";

/**
 * The brand strings of one dialect: everything in which the dialects differ, because clients work only if all of it
 * changes together.
 */
export interface Dialect {
  readonly name: DialectName;
  readonly signature: SignatureBrand;
  /** Replaces `svc` between hyphens, before a colon and as the partition of ARNs. */
  readonly providerWord: string;
  /** Whether members and values are written with their public names. */
  readonly writesPublicNames: boolean;
  /** Lower case. */
  readonly targetHeader: string;
  /** The prefix before the dot in the target header, by API; an API without one has the documented prefix. */
  readonly targetPrefixes: Readonly<Record<string, string>>;
  readonly targetContentType: string;
  readonly errorTypeHeader: string;
  /** Header with the request id in answers of the JSON APIs. */
  readonly requestIdHeader: string;
  /** Header with the request id in answers of the XML API, and the one with the id of the answering host. */
  readonly xmlRequestIdHeader: string;
  readonly hostIdHeader: string;
  /** Namespace of XML documents; undefined: none. */
  readonly xmlNamespace: string | undefined;
  /** Service names that a signature's credential scope may carry, by API. */
  readonly signingNames: Readonly<Record<string, readonly string[]>>;
}

/** The service names of all APIs, one each, as signatures carry them. */
export const servedNames = ({ signingNames }: Pick<Dialect, "signingNames">): readonly string[] =>
  Object.values(signingNames).flatMap(([name]) => name ?? []);

/** Translates documented spellings into those of a dialect and back. Header names are lower case. */
export interface DialectSpelling extends WireNames {
  readonly dialect: Dialect;
  /** `x-svc-copy-source` -> `x-amz-copy-source`, `…-svc-kms-key-id` -> `…-aws-kms-key-id`. */
  header(documented: string): string;
  /** `svc:kms` -> `aws:kms`; any other text is returned as it is. */
  value(documented: string): string;
  /** `aws:kms` -> `svc:kms`; any other text is returned as it is. */
  documentedValue(text: string): string;
  /** An ARN of either partition with the dialect's own; any other text is returned as it is. */
  arn(text: string): string;
}

/** The spelling of a dialect; translated header names are cached. */
export const spellingOf = (dialect: Dialect): DialectSpelling => {
  const headers = new Map<string, string>();
  const ownPrefix = `${dialect.providerWord}:`;
  const arnPrefix = `arn:${dialect.providerWord}:`;
  const isDocumented = ownPrefix === documentedValuePrefix;
  const value = (documented: string): string =>
    isDocumented || !documented.startsWith(documentedValuePrefix)
      ? documented
      : ownPrefix + documented.slice(documentedValuePrefix.length);
  return {
    dialect,
    member: (field) => (dialect.writesPublicNames ? field.publicName : field.wireName),
    enumValue: (spellings) => value(dialect.writesPublicNames ? spellings.publicValue : spellings.wireValue),
    value,
    element: documentedNames.element,
    header: (documented) => {
      let translated = headers.get(documented);
      if (translated === undefined) {
        translated = headerIn(dialect, documented);
        headers.set(documented, translated);
      }
      return translated;
    },
    documentedValue: (text) =>
      isDocumented || !text.startsWith(ownPrefix) ? text : documentedValuePrefix + text.slice(ownPrefix.length),
    arn: (text) => (/^arn:(?:aws|svc):/.test(text) ? arnPrefix + text.slice("arn:aws:".length) : text),
  };
};

const documentedValuePrefix = "svc:";
const documentedHeaderPrefix = "x-svc-";

/** The result of `DialectSpelling.header` without its cache, for names of which there could be any number. */
export const headerIn = (dialect: Dialect, documented: string): string => {
  if (!documented.startsWith(documentedHeaderPrefix)) return documented;
  const { headerPrefix } = dialect.signature;
  const rest = documented
    .slice(documentedHeaderPrefix.length)
    // The headers that a function forwards have the name of a header in theirs.
    .replaceAll(`-${documentedHeaderPrefix}`, `-${headerPrefix}`)
    .replaceAll("-svc-", `-${dialect.providerWord}-`);
  return headerPrefix + rest;
};
