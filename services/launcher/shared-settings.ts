import { choice, integer, networks, secret, text } from "../kit/config/config.ts";

/**
 * The settings that all processes share. A shared setting is `QUARTET_<NAME>`, a process's own
 * `QUARTET_<PROCESS>_<NAME>`; in quartet.json a process's own are in an object of its name (`objectStorage`).
 */
export const sharedSettings = {
  dataDir: text("./data", "Directory that holds each process's data and the installation's keys."),
  keysDir: text("", "Directory of the key pairs by which the processes know each other; empty: keys in dataDir."),
  logLevel: choice(
    ["info", "fatal", "error", "warn", "debug", "trace", "silent"],
    "Least important lines that are logged.",
  ),
  auditLog: choice(
    ["on", "off"],
    "Whether each process records its decisions that change something or refuse, in audit/ of its directory.",
  ),
  auditFileMebibytes: integer(64, "Size in MiB after which the record of decisions begins a new file.", 1, 4_096),
  auditFiles: integer(16, "Files of decisions that each process keeps; the oldest is removed.", 2, 10_000),
  region: text("us-east-1", "Region that ARNs, signatures and answers name."),
  emit: choice(["amz", "svc"], "Dialect of what is emitted without a request: events and the ARNs in them."),
  accessKeyId: text("", "Access key id of the root key, instead of the one in the gateway's credentials file."),
  secretAccessKey: secret("Secret of that access key."),
  tlsCertificate: text("", "PEM file of the services' certificate, as servers and as clients; empty: no TLS."),
  tlsKey: text("", "PEM file of the key of that certificate."),
  tlsAuthority: text(
    "",
    "PEM file of the authorities that certify the services; empty: the public ones that Node ships.",
  ),
  tlsServerName: text("", "Name that certificates of services must have; empty: the host of their address."),
  tlsClientCertificates: choice(
    ["none", "optional", "required"],
    "Whether services ask their callers for certificates of that authority.",
  ),
  trustedProxies: networks(
    "Addresses and networks of reverse proxies and load balancers; what they say of clients in X-Forwarded headers counts.",
  ),
  startLimitMs: integer(
    600_000,
    "Longest time in milliseconds that a process may take to open its data; npm start then kills and starts it again.",
    30_000,
    86_400_000,
  ),
  floodsPerMinuteMax: integer(5, "Floods by one address in a minute before it is shut out.", 1, 1_000_000),
  drainMs: integer(10_000, "Longest time in milliseconds that a stopping process waits for running calls.", 0, 600_000),
};

/** The root key of the settings as the variables that name it. */
export const rootKeyVariables = ({
  accessKeyId,
  secretAccessKey,
}: {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}) => ({
  QUARTET_ACCESS_KEY_ID: accessKeyId || undefined,
  QUARTET_SECRET_ACCESS_KEY: secretAccessKey || undefined,
});
