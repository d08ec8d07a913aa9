import type {
  RoutingRedirect,
  RoutingRule,
  WebsiteConfiguration,
} from "../../gen/quartet/objectstorage/v1/website_pb.ts";

/** A redirect of a visitor. */
export interface SiteRedirect {
  readonly status: number;
  readonly location: string;
}

/** Where a visitor is: the protocol and host of the request. */
export interface SitePlace {
  readonly protocol: "http" | "https";
  readonly host: string;
}

/** The key of a path: the index document of a folder for one that is empty or ends with a slash. */
export const siteKey = ({ indexDocument }: WebsiteConfiguration, path: string): string =>
  path === "" || path.endsWith("/") ? `${path}${indexDocument?.suffix ?? ""}` : path;

/** The redirect of every request, if the website is one; `path` is what was asked for, without its first slash. */
export const redirectOfAll = (
  { redirectAllRequestsTo: all }: WebsiteConfiguration,
  { protocol }: SitePlace,
  path: string,
): SiteRedirect | undefined =>
  all === undefined
    ? undefined
    : { status: 301, location: `${all.protocol ?? protocol}://${all.hostName ?? ""}/${encodePath(path)}` };

/**
 * The redirect of the first rule that fits. Before an object is read rules that name an error do not fit; after an
 * error only those that name its status do. `path` is what was asked for, without its first slash.
 */
export const redirectByRule = (
  { routingRules }: WebsiteConfiguration,
  place: SitePlace,
  path: string,
  errorStatus: number | undefined,
): SiteRedirect | undefined => {
  const rule = routingRules.find((each) => fits(each, path, errorStatus));
  return rule?.redirect && redirectOf(rule.redirect, rule.condition?.keyPrefixEquals ?? "", place, path);
};

const fits = ({ condition }: RoutingRule, path: string, errorStatus: number | undefined): boolean => {
  const { httpErrorCodeReturnedEquals: code, keyPrefixEquals: prefix = "" } = condition ?? {};
  return code === (errorStatus === undefined ? undefined : String(errorStatus)) && path.startsWith(prefix);
};

const redirectOf = (
  { hostName, httpRedirectCode, protocol, replaceKeyPrefixWith, replaceKeyWith }: RoutingRedirect,
  prefix: string,
  place: SitePlace,
  path: string,
): SiteRedirect => {
  const replaced = replaceKeyPrefixWith === undefined ? path : `${replaceKeyPrefixWith}${path.slice(prefix.length)}`;
  const key = encodePath(replaceKeyWith ?? replaced);
  return {
    status: Number(httpRedirectCode ?? 301),
    location: `${protocol ?? place.protocol}://${hostName ?? place.host}/${key}`,
  };
};

/** A key as the path of a URL. */
export const encodePath = (key: string): string => encodeURIComponent(key.toWellFormed()).replaceAll("%2F", "/");
