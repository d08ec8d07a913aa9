import { accountSections } from "../kit/accounts/declaration.ts";
import { keySections } from "../kit/keyring/declaration.ts";
import { address, choice, integer, list, secret, text } from "../kit/config/config.ts";

/**
 * Every setting of an installation, once. A shared setting is `QUARTET_<NAME>`, a process's own
 * `QUARTET_<PROCESS>_<NAME>`; in quartet.json a process's own stand in an object of its name (`objectStorage`).
 */
export const sharedSettings = {
  dataDir: text("./data", "Directory that holds each process's data and the installation's keys."),
  logLevel: choice(
    ["info", "fatal", "error", "warn", "debug", "trace", "silent"],
    "Least important lines that are logged.",
  ),
  region: text("us-east-1", "Region that ARNs, signatures and answers name."),
  emit: choice(["amz", "svc"], "Dialect of what is emitted without a request: events and the ARNs in them."),
  accessKeyId: text("", "Access key id of the root key, instead of the one in the gateway's credentials file."),
  secretAccessKey: secret("Secret of that access key."),
  tlsCertificate: text(
    "",
    "PEM file of the certificate that the services show each other; empty: they speak without TLS.",
  ),
  tlsKey: text("", "PEM file of the key of that certificate."),
  tlsAuthority: text("", "PEM file of the authorities that certify the services; empty: the well-known ones."),
  tlsServerName: text("", "Name that certificates of services must have; empty: the host of their address."),
  tlsClientCertificates: choice(
    ["none", "optional", "required"],
    "Whether services ask their callers for certificates of that authority.",
  ),
  drainMs: integer(10_000, "Longest time in milliseconds that a stopping process waits for running calls.", 0, 600_000),
};

export const gatewaySettings = {
  listen: address("127.0.0.1:8080", "Where all four APIs are served over HTTP."),
  certificate: text("", "PEM file of the certificate with which clients are answered by HTTPS; empty: by plain HTTP."),
  certificateKey: text("", "PEM file of the key of that certificate."),
  adminListen: address("127.0.0.1:8089", "Where /healthz and /metrics are served."),
  hosts: list(["localhost"], "Host names of the gateway itself; a label before one of them names a bucket or an API."),
  brandWord: text("svc", "Word of the documented dialect in header names, ARNs and algorithms."),
  allowedOrigins: list([], "Origins whose scripts may call the JSON APIs; a * in one stands for any text."),
  customerProfileAddress: text(
    "http://127.0.0.1:50051",
    "Where the gateway reaches customer-profile; several addresses separated by commas.",
  ),
  refactoringWorkspaceAddress: text(
    "http://127.0.0.1:50052",
    "Where the gateway reaches refactoring-workspace; several addresses separated by commas.",
  ),
  eventBusAddress: text(
    "http://127.0.0.1:50053",
    "Where the gateway reaches event-bus; several addresses separated by commas.",
  ),
  objectStorageAddress: text(
    "http://127.0.0.1:50054",
    "Where the gateway reaches object-storage; several addresses separated by commas.",
  ),
};

/** Where the launcher lets the processes of one machine meet. */
const socket = text("", "Path of a unix socket where RPCs are answered besides listen, without TLS; empty: none.");

export const customerProfileSettings = {
  listen: address("127.0.0.1:50051", "Where the service answers RPCs."),
  socket,
};

export const refactoringWorkspaceSettings = {
  listen: address("127.0.0.1:50052", "Where the service answers RPCs."),
  socket,
  proxyListen: address("127.0.0.1:8081", "Where the applications' traffic enters."),
  proxyUrl: text("", "Base of the proxy URLs that answers show; empty: made from proxyListen."),
  privateTargets: choice(
    ["auto", "allow", "refuse"],
    "Whether services may stand at private addresses; auto: when proxyListen is loopback.",
  ),
  functionsUrl: text("", "Base address of the Invoke API by which function endpoints are called; empty: none are."),
};

export const eventBusSettings = {
  listen: address("127.0.0.1:50053", "Where the service answers RPCs."),
  socket,
  privateTargets: choice(
    ["auto", "allow", "refuse"],
    "Whether targets may be private addresses or plain http; auto: when listen is loopback.",
  ),
  busesMax: integer(100, "Event buses of an account.", 1, 100_000),
  rulesPerBusMax: integer(300, "Rules of a bus.", 1, 1_000_000),
  targetsPerRuleMax: integer(5, "Targets of a rule, for callers of revision A.", 1, 100),
  connectionsMax: integer(3_000, "Connections of an account.", 1, 1_000_000),
  apiDestinationsMax: integer(3_000, "API destinations of an account.", 1, 1_000_000),
  activeReplaysMax: integer(10, "Replays of an account that have not ended.", 1, 1_000),
  deadLetterDays: integer(14, "Days that a delivery which failed for good can be looked at and redriven.", 1, 3_650),
};

export const objectStorageSettings = {
  listen: address("127.0.0.1:50054", "Where the service answers RPCs."),
  socket,
  eventBusAddress: text(
    "http://127.0.0.1:50053",
    "Where bucket notifications are sent; several addresses separated by commas.",
  ),
};

/** The processes in the order in which the launcher starts them: a callee before its callers; and what else stands in quartet.json. */
export const installation = {
  shared: sharedSettings,
  processes: {
    "event-bus": eventBusSettings,
    "customer-profile": customerProfileSettings,
    "refactoring-workspace": refactoringWorkspaceSettings,
    "object-storage": objectStorageSettings,
    gateway: gatewaySettings,
  },
  sections: { ...accountSections, ...keySections },
};
