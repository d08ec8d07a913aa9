/** What the last part of a resource name of this service names. */
export type TaggedResource = { readonly domainName: string } & (
  | { readonly kind: "domain" }
  | { readonly kind: "objectType"; readonly objectTypeName: string }
  | { readonly kind: "integration"; readonly uri: string }
);

/**
 * Reads `domains/<domain>`, with `/object-types/<type>` or `/integrations/<uri>` behind it; the uri may hold colons and
 * slashes. Undefined for anything else.
 */
export const parseResourceName = (text: string): TaggedResource | undefined => {
  const match = /^domains\/([^/]+)(?:\/(object-types|integrations)\/(.+))?$/s.exec(text);
  if (match === null) return undefined;
  const [, domainName = "", collection, name = ""] = match;
  if (collection === undefined) return { domainName, kind: "domain" };
  if (collection === "integrations") return { domainName, kind: "integration", uri: name };
  return name.includes("/") ? undefined : { domainName, kind: "objectType", objectTypeName: name };
};
