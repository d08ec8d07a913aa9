import { secret, text, texts } from "../kit/config/config.ts";

/** The URL of an HTTP proxy, without a user and a path. */
const httpProxyUrl = /^https?:\/\/[^\s@/?#]+\/?$/;

/** How the refactoring workspace reaches what its routes lead to. */
export const workspaceTargetSettings = {
  privateLinks: texts(
    /^[0-9]{12}\/vpc-[-0-9a-f]{8,17}$/,
    httpProxyUrl,
    "URLs of HTTP proxies by which applications reach private addresses, by <account>/<VPC> of the applications.",
  ),
  egressProxy: text("", "URL of the HTTP proxy by which services reach public addresses; empty: directly.").refine(
    (url) => url === "" || httpProxyUrl.test(url),
    "must be http or https://host:port",
  ),
  privateAuthorities: texts(
    /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/,
    /^.+$/,
    "PEM files of private authorities by their domains; each is trusted for services of a domain with public addresses.",
  ),
  functionsUrl: text("", "Base address of the Invoke API by which functions are called; empty: none can be."),
  functionsAccessKeyId: text("", "Access key id with which calls of that API are signed; empty: they are not signed."),
  functionsSecretAccessKey: secret("Secret of that access key."),
};
