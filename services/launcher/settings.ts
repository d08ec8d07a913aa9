/*
 * Every setting of an installation, once.
 */
import { join } from "node:path";

import * as z from "zod";

import { accountSections } from "../kit/accounts/declaration.ts";
import { keySections } from "../kit/keyring/declaration.ts";
import type { SettingsTable } from "../kit/config/config.ts";
import {
  address,
  choice,
  endpoints,
  endpointsNamed,
  objectsNamed,
  integer,
  list,
  placesNamed,
  text,
  texts,
} from "../kit/config/config.ts";
import { parseHostsUrl } from "../kit/network/hosts-url.ts";
import { sharedSettings } from "./shared-settings.ts";
import type { AddressSetting, ProcessName, ServiceName } from "./processes.ts";
import { addressSetting, defaultAddress, serviceNames } from "./processes.ts";
import { workspaceTargetSettings } from "./workspace-target-settings.ts";

/** The address of a service that another process calls. */
const serviceAddress = (name: ServiceName, description: string) =>
  text(`http://${defaultAddress(name, "rpc")}`, `${description}; several addresses separated by commas.`);

/** The addresses at which the gateway calls the services. */
const serviceAddresses = Object.fromEntries(
  serviceNames.map((name) => [addressSetting(name), serviceAddress(name, `Where the gateway reaches ${name}`)]),
) as Readonly<Record<AddressSetting, ReturnType<typeof text>>>;

/** Whether requests that users cause may go to the installation's own network. */
const privateTargets = (targets: string) =>
  choice(
    ["refuse", "allow"],
    `Whether ${targets}; unset: npm start allows it while nobody on another machine can call the installation.`,
  );

/** How a service keeps what it stores. */
export const storageSettings = {
  acceptLoss: choice(
    ["no", "yes"],
    "Whether a damaged database is opened without the commits that are lost; yes logs them. Meant for one start.",
  ),
  freeMebibytesMin: integer(
    64,
    "With less free on the disk, in MiB, only reads and deletions are served.",
    0,
    1_048_576,
  ),
  freePercentMin: integer(1, "The same in percent of the disk; the larger of both counts.", 0, 90),
  ballastMebibytes: integer(
    32,
    "MiB of a file that is released when the disk is full, so that the database can be opened; 0: no such file.",
    0,
    16_384,
  ),
};

export const gatewaySettings = {
  listen: address(defaultAddress("gateway", "http"), "Where all four APIs are served over HTTP."),
  certificate: text("", "PEM file of the certificate for HTTPS on listen; empty: plain HTTP."),
  certificateKey: text("", "PEM file of the key of that certificate."),
  rpcListen: address(defaultAddress("gateway", "grpc"), "Where the RPCs of all services are served, also by HTTP/2."),
  adminListen: address(defaultAddress("gateway", "admin"), "Where /livez, /readyz and /metrics are served."),
  hosts: list(["localhost"], "Host names of the gateway itself; a label before one of them names a bucket or an API."),
  websiteHosts: list([], "Host names of websites; a label before one of them names the bucket whose website it is."),
  publicUrl: text("", "Base URL by which functions reach the gateway to read objects; empty: made from listen."),
  signatureRegions: choice(["own", "any"], "Regions that signatures may name: the installation's, or any."),
  signatureVersion2: choice(
    ["accept", "week", "refuse", "headers"],
    "Whether version 2 may sign URLs and forms; week: only URLs that end within one; headers: requests by header, too.",
  ),
  serverHeader: choice(
    ["version", "name", "none"],
    "What the Server header of answers says: Quartet with its version, Quartet, or nothing; then there is no header.",
  ),
  brandWord: text("svc", "Word of the documented dialect in header names, ARNs and algorithms."),
  identityListen: address(defaultAddress("gateway", "rpc"), "Where the RPCs of identities and sessions are served."),
  identityAddress: text(
    "",
    "Where another gateway serves them, which keeps the identities of both; empty: this gateway keeps them itself.",
  ),
  socket: text(
    "",
    "Path of a unix socket on which those RPCs are served as well, without TLS; empty: none. A further worker serves its health and metrics there.",
  ),
  workers: integer(
    0,
    "Processes of the gateway that npm start runs, all on the same addresses; 0: one for each two cores, at most four.",
    0,
    64,
  ),
  worker: integer(0, "Which of several workers this process is; npm start sets it. 0: it is the only one.", 0, 64),
  privateTargets: privateTargets("identity providers may have private addresses or use plain http"),
  allowedOrigins: list([], "Origins whose scripts may call the JSON APIs and RPCs; a * in one stands for any text."),
  ...serviceAddresses,
  ...storageSettings,
};

/** The settings that every service has. */
const serviceSettings = (name: ServiceName) => ({
  listen: address(defaultAddress(name, "rpc"), "Where RPCs are served."),
  socket: text("", "Path of a unix socket on which RPCs are served as well, without TLS; empty: none."),
  identityAddress: text(
    "",
    "Where the gateway that keeps identities serves their RPCs; empty: only declared accounts and roles are known.",
  ),
});

export const customerProfileSettings = {
  ...serviceSettings("customer-profile"),
  ...storageSettings,
  objectStorageAddress: serviceAddress("object-storage", "Where flows of integrations read their buckets"),
  connectors: endpoints(
    ["sqs"],
    "Where the dead letter queues of domains are reached, as {url, region, accessKeyId, secretAccessKey} of sqs; a JSON text as a variable.",
  ),
};

export const refactoringWorkspaceSettings = {
  ...serviceSettings("refactoring-workspace"),
  ...storageSettings,
  proxyListen: address(defaultAddress("refactoring-workspace", "proxy"), "Where applications' traffic is received."),
  proxyCertificate: text("", "PEM file of the certificate for HTTPS on proxyListen; empty: plain HTTP."),
  proxyCertificateKey: text("", "PEM file of the key of that certificate."),
  proxyUrl: text("", "Base of the proxy URLs in responses; empty: made from proxyListen."),
  privateTargets: privateTargets("applications' services may have private addresses"),
  ...workspaceTargetSettings,
};

/** The services whose resources may be targets of the event bus, by their names in signatures. */
const targetServices = [
  "lambda",
  "sqs",
  "sns",
  "kinesis",
  "firehose",
  "logs",
  "states",
  "execute-api",
  "batch",
  "ecs",
  "codepipeline",
  "codebuild",
  "ssm",
  "ssm-incidents",
  "redshift-data",
  "sagemaker",
  "inspector",
  "imagebuilder",
  "glue",
  "appsync",
] as const;

const brokerSchemes = ["nats", "amqp", "redis", "postgresql", "kafka", "http", "https"];

/** Users and passwords are members of their own, so that a URL can be shown. */
const isBrokerUrl = (url: string): boolean =>
  brokerSchemes.includes(parseHostsUrl(url.replace(/^(https?:.*)\?.*$/, "$1"))?.scheme ?? "");

export const eventBusSettings = {
  ...serviceSettings("event-bus"),
  ...storageSettings,
  privateTargets: privateTargets("targets may have private addresses or use plain http"),
  busesMax: integer(100, "Event buses of an account.", 1, 100_000),
  rulesPerBusMax: integer(300, "Rules of a bus.", 1, 1_000_000),
  targetsPerRuleMax: integer(5, "Targets of a rule, for callers of revision A.", 1, 100),
  connectionsMax: integer(3_000, "Connections of an account.", 1, 1_000_000),
  apiDestinationsMax: integer(3_000, "API destinations of an account.", 1, 1_000_000),
  activeReplaysMax: integer(10, "Replays of an account that have not ended.", 1, 1_000),
  runningDeliveriesMax: integer(4_096, "Deliveries that wait for their target's answer at the same time.", 2, 100_000),
  unknownRoles: choice(
    ["refuse", "allow"],
    "Whether a delivery in the name of a role that does not exist fails, or is made as if it named none.",
  ),
  partners: texts(
    /^[0-9]{12}$/,
    /^[._A-Za-z0-9-]{1,64}$/,
    "Accounts that may share event sources, as {account: name}; the sources begin with aws.partner/<name>/.",
  ),
  regions: endpointsNamed(
    /^[a-z0-9-]{9,20}$/,
    "Where the event buses of other regions are called, as {url, accessKeyId, secretAccessKey} by region.",
  ),
  healthChecks: texts(
    /^[A-Za-z0-9-]{1,64}$/,
    /^https?:.+$/,
    "URLs of health checks of global endpoints, by the ids that end the ARNs of health checks.",
  ),
  connectors: endpoints(
    targetServices,
    "Where targets of other services are reached, as {url, region, accessKeyId, secretAccessKey} by service; a JSON text as a variable.",
  ),
  objectStorageAddress: serviceAddress("object-storage", "Where delivery streams write their objects"),
  deliveryStreams: objectsNamed(
    /^[0-9]{12}\/[A-Za-z0-9_.-]{1,64}$/,
    {
      bucket: z
        .string()
        .min(3)
        .max(63)
        .describe("The bucket of its objects, which its account must be allowed to put."),
      prefix: z.string().max(512).optional().describe("The beginning of the objects' keys. Left out: none."),
      mebibytes: z
        .number()
        .int()
        .min(1)
        .max(128)
        .optional()
        .describe("MiB of records after which an object is written. Left out: 5."),
      seconds: z
        .number()
        .int()
        .min(1)
        .max(900)
        .optional()
        .describe("Seconds after which a record is written, however few there are. Left out: 300."),
    },
    "Delivery streams that write what rules deliver into buckets, by <account>/<name>.",
  ),
  brokers: objectsNamed(
    /^[0-9]{12}\/[A-Za-z0-9_.-]{1,64}$/,
    {
      url: z
        .string()
        .refine(isBrokerUrl, "must be nats, amqp, redis, postgresql, kafka, http or https://host, without a user")
        .describe("Where it is: nats, amqp, redis, postgresql, kafka, https or http://host:port/path."),
      user: z.string().min(1).optional().describe("The user to log in as. Left out: the default of its kind."),
      password: z.string().optional().describe("The password of that user; of NATS without a user: the token."),
      secret: z
        .string()
        .regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, "must be whsec_ and 24 to 64 bytes in base64")
        .optional()
        .describe("The secret with which a webhook is signed. Left out: it is not signed."),
      tls: z.enum(["off", "on"]).optional().describe("Whether connections are encrypted. Left out: off."),
      authority: z.string().optional().describe("PEM file of the authorities that certify it; turns tls on."),
      certificate: z.string().optional().describe("PEM file of a certificate to show it, with its key; turns tls on."),
      servername: z
        .string()
        .regex(/^[A-Za-z0-9.-]{1,253}$/, "must be the name of a host")
        .optional()
        .describe("The name that its certificate must have; turns tls on. Left out: that of the host."),
      mechanism: z
        .enum(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
        .optional()
        .describe("How Kafka checks the password. Left out: PLAIN."),
      streamEntriesMax: z
        .int()
        .min(1)
        .max(1_000_000_000)
        .optional()
        .describe("About the entries that a stream of Redis keeps; the oldest are removed. Left out: all."),
    },
    "Brokers and webhooks to which rules of an account deliver, by <account>/<name>; a JSON text as a variable.",
  ).meta({ writeOnly: true }),
  busLogs: list(
    [],
    "ARNs of the log groups and delivery streams that buses with a LogConfig write to, with {region}, {account} and " +
      "{bus}; empty: the log group /aws/vendedlogs/events/event-bus/{bus}.",
  ),
  deadLetterDays: integer(14, "Days that a delivery which failed for good is kept to be read and redriven.", 1, 3_650),
};

export const objectStorageSettings = {
  ...serviceSettings("object-storage"),
  ...storageSettings,
  eventBusAddress: serviceAddress("event-bus", "Where events of buckets are sent"),
  connectors: endpoints(
    ["sqs", "sns", "lambda"],
    "Where queues, topics and functions are reached that buckets notify, as {url, region, accessKeyId, secretAccessKey} by service; a JSON text as a variable.",
  ),
  objectOwnership: choice(
    ["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"],
    "Who owns the objects of a new bucket that does not say it; the first turns ACLs off.",
  ),
  emailGrants: choice(
    ["accept", "refuse"],
    "Whether ACLs may name accounts by e-mail address; refuse: such grants end with MethodNotAllowed.",
  ),
  publicBuckets: choice(
    ["allow", "block"],
    "Whether buckets may be public; block: all four switches against public access are on in every bucket.",
  ),
  lifecycleSecondsPerDay: integer(
    86_400,
    "Seconds of a day of lifecycle rules and restores; fewer than 86400 are for trying rules out.",
    1,
    86_400,
  ),
  restoreSeconds: integer(60, "Seconds after which an archived object that is restored can be read.", 0, 604_800),
  accessLogSeconds: integer(300, "Seconds for which lines of access logs are gathered for one object.", 1, 86_400),
  functionsUrl: text("", "Base address of the Invoke API by which functions of access points are called; empty: none."),
  objectFunctionSeconds: integer(55, "Seconds within which such a function must begin its answer.", 1, 55),
  regions: placesNamed(
    /^[a-z0-9-]{9,20}$/,
    "Gateways of other regions, as {region: url}, or {url, accessKeyId, secretAccessKey} to copy versions there.",
  ),
  selectThreads: integer(2, "Queries of objects that run at the same time, each in a thread or process.", 1, 64),
  selectSeconds: integer(900, "Longest time in seconds that a query of an object may take.", 1, 86_400),
  accessPoints: objectsNamed(
    /^[a-z0-9](?:[a-z0-9-]{1,48})[a-z0-9]-[0-9]{12}$/,
    {
      bucket: z.string().min(3).max(63).describe("The bucket that it is another name of."),
      outpost: z
        .string()
        .regex(/^op-[a-z0-9]{1,59}$/)
        .optional()
        .describe("The deployment on premises that it belongs to. Left out: it is an ordinary one."),
      function: z
        .string()
        .regex(/^arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_:$.-]{1,140}$/)
        .optional()
        .describe("The function that transforms what is read by it. Left out: objects are read as they are."),
      payload: z.string().max(4_096).optional().describe("Text that the function is called with. Left out: none."),
      alias: z
        .string()
        .regex(/^[a-z0-9-]{1,54}(?:-s3alias|--ol-s3)$/)
        .optional()
        .describe("A further name, for clients that know names of buckets only."),
      policy: z
        .record(z.string(), z.unknown())
        .optional()
        .describe("What it allows and denies; the bucket must allow it too. Left out: nothing of its own."),
    },
    "Access points by the first labels of their hosts, <name>-<account>.",
  ),
  scrubDays: integer(14, "Days after which all stored data is checked again.", 1, 3_650),
  scrubMebibytesPerSecond: integer(16, "How much that check reads, in MiB a second.", 1, 100_000),
};

const processSettings = {
  "customer-profile": customerProfileSettings,
  "refactoring-workspace": refactoringWorkspaceSettings,
  "event-bus": eventBusSettings,
  "object-storage": objectStorageSettings,
  gateway: gatewaySettings,
} satisfies Readonly<Record<ProcessName, SettingsTable>>;

/** The possible content of quartet.json: shared settings, those of each process, and declarations. */
export const installation = {
  shared: sharedSettings,
  processes: processSettings,
  sections: { ...accountSections, ...keySections },
  loggingFrontEnds: ["gateway"],
};

/** The file of the access keys with which the installation's users sign. */
export const credentialsFile = (dataDir: string): string => join(dataDir, "gateway", "credentials.json");
