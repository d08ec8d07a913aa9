import { create } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { ConnectError, createClient } from "@connectrpc/connect";

import { DirectoryService } from "../../gen/quartet/kit/directory/v1/directory_service_pb.ts";
import type {
  SimulatePolicyRequest,
  SimulatePolicyResponse,
  StatementPlace,
} from "../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import {
  PolicyDocumentsSchema,
  PolicyService,
  PolicySide,
  Reason,
  SimulatePolicyRequestSchema,
} from "../../gen/quartet/kit/policy/v1/policy_service_pb.ts";
import { simulatePolicy } from "../kit/access/policy-service.ts";
import { parsePrincipal } from "../kit/access/simulation.ts";
import type { Accounts } from "../kit/accounts/accounts.ts";
import { readNamedFile } from "../kit/config/text-file.ts";
import { openAccounts } from "../kit/accounts/accounts-file.ts";
import { createTransport } from "../kit/client/transport.ts";
import { systemClock } from "../kit/clock/clock.ts";
import type { SettingsOf } from "../kit/config/config.ts";
import { ConfigError, configFileOf, formatAddress, loadConfig } from "../kit/config/config.ts";
import { answerAsked } from "../kit/config/usage.ts";
import type { Caller } from "../kit/identity/caller.ts";
import { rootCaller } from "../kit/identity/caller.ts";
import { ensureKeyPair } from "../kit/identity/key-files.ts";
import { createMinter } from "../kit/identity/tokens.ts";
import { parseJson } from "../kit/json/parse-json.ts";
import { createLogger } from "../kit/log/log.ts";
import { spellingOf } from "../kit/policy/spelling.ts";
import { openProcessTls } from "../kit/process/process-tls.ts";
import { keysDirectory } from "../kit/process/keys-directory.ts";
import { startFailure } from "../kit/process/start-failure.ts";
import { ProtocolError } from "../kit/wire/protocol-error.ts";
import { policyNames } from "./policy-names.ts";
import type { ServiceName } from "./processes.ts";
import { addressSetting, serviceNames } from "./processes.ts";
import { gatewaySettings, installation } from "./settings.ts";
import { runCommand } from "./tool.ts";

/** A flag of the command, and whether it may be given more than once. */
const flags = {
  principal: ["ARN", "Who asks: a root, a user, a role or a role's session; * is an anonymous caller."],
  action: ["NAME", "For example events:PutEvents."],
  resource: ["ARN", "The resource, or * for an action that has none."],
  policies: [
    "FILE",
    "The principal's policies: a document or a list of them. Unset: those in the configuration file, or with --online those that the gateway keeps.",
  ],
  boundary: [
    "FILE",
    "The principal's permissions boundary, a document. Unset: none, or with --online the one that the gateway keeps.",
  ],
  "session-policies": ["FILE", "The policies of the principal's session. Unset: it is not narrowed."],
  "resource-policies": ["FILE", "The resource's policies. Unset: none, or with --online those that the service keeps."],
  owner: ["ACCOUNT", "The account of the resource. Unset: as its ARN says, or the principal's."],
  context: ["KEY=VALUE", "A value of a condition key; can be repeated."],
  address: ["URL", "Where the service answers RPCs. Unset: as configured."],
} as const;

type FlagName = keyof typeof flags;

const command = "npm run --silent policy -- explain";

/**
 * Explains a decision: prints it, the statement that decided, and those that nearly matched with what failed. The
 * status is 0 if the request is allowed, 1 if it is refused, and 2 if it cannot be decided.
 */
const main = async (): Promise<number> => {
  const argv = process.argv.slice(2);
  answerAsked(argv, {
    command: `${command} [flags]`,
    about: [
      "Explains whether a request would be allowed, and which statement decides.",
      "Decides from files and the configuration; with --online the service decides, with what it keeps.",
    ],
    flags: [
      ["--online", "Asks the running service, in the name of the principal's account."],
      ...Object.entries(flags).map(([name, [value, description]]) => [`--${name} ${value}`, description] as const),
    ],
    settings: [{ heading: "Shared settings", table: installation.shared, hasFlags: true }],
  });
  if (argv.shift() !== "explain") throw new ConfigError("the command is explain; --help shows its flags");
  const isOnline = takeSwitch(argv, "--online");
  const given = takeFlags(argv);
  const request = await requestOf(given, isOnline);
  const principal = parsePrincipal(request.principalArn);
  if (principal === undefined) throw new ConfigError("--principal names no principal");
  const service = serviceOf(request.action);
  const caller = rootCaller(principal.accountId || request.ownerAccountId || "000000000000");
  const response = isOnline
    ? await askService(service, given.get("address")?.[0], request, caller, argv)
    : await decideHere(service, request, caller, argv);
  process.stdout.write(`${describeResponse(response).join("\n")}\n`);
  return response.isAllowed ? 0 : 1;
};

const takeSwitch = (argv: string[], name: string): boolean => {
  const at = argv.indexOf(name);
  if (at !== -1) argv.splice(at, 1);
  return at !== -1;
};

/** Takes the command's own flags out of the arguments; what is left are settings. */
const takeFlags = (argv: string[]): ReadonlyMap<FlagName, readonly string[]> => {
  const taken = new Map<FlagName, string[]>();
  const settings: string[] = [];
  for (let argument = argv.shift(); argument !== undefined; argument = argv.shift()) {
    const [, name = "", inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(argument) ?? [];
    if (!Object.hasOwn(flags, name)) {
      settings.push(argument);
      continue;
    }
    const value = inline ?? argv.shift();
    if (value === undefined || value === "") throw new ConfigError(`--${name} needs a value`);
    taken.set(name as FlagName, [...(taken.get(name as FlagName) ?? []), value]);
  }
  argv.push(...settings);
  return taken;
};

const requestOf = async (
  given: ReadonlyMap<FlagName, readonly string[]>,
  isOnline: boolean,
): Promise<SimulatePolicyRequest> => {
  const needed = (name: FlagName): string => {
    const value = given.get(name)?.at(-1);
    if (value === undefined) throw new ConfigError(`--${name} is needed`);
    return value;
  };
  const context = new Map<string, string[]>();
  for (const pair of given.get("context") ?? []) {
    const at = pair.indexOf("=");
    if (at < 1) throw new ConfigError("--context takes KEY=VALUE");
    context.set(pair.slice(0, at), [...(context.get(pair.slice(0, at)) ?? []), pair.slice(at + 1)]);
  }
  const documents = (name: FlagName) => {
    const files = given.get(name);
    return files === undefined ? undefined : { documents: files.flatMap(readPolicies) };
  };
  const boundaries = documents("boundary");
  if (boundaries !== undefined && boundaries.documents.length !== 1)
    throw new ConfigError("--boundary is one document");
  const [identityPolicies, sessionPolicies, resourcePolicies] = [
    documents("policies"),
    documents("session-policies"),
    documents("resource-policies") ?? (isOnline ? undefined : { documents: [] }),
  ];
  return create(SimulatePolicyRequestSchema, {
    principalArn: needed("principal"),
    action: needed("action"),
    resourceArn: needed("resource"),
    ownerAccountId: given.get("owner")?.at(-1) ?? "",
    context: Object.fromEntries([...context].map(([key, values]) => [key, { values }])),
    ...(identityPolicies && { identityPolicies }),
    ...(boundaries && { permissionsBoundary: boundaries.documents[0] ?? "" }),
    ...(sessionPolicies && { sessionPolicies }),
    ...(resourcePolicies && { resourcePolicies }),
  });
};

/** The texts of the policies in a file, which holds one document or a list of them. */
const readPolicies = (path: string): string[] => {
  const text = readNamedFile(path);
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch {
    throw new ConfigError(`${path} is not valid JSON`);
  }
  return Array.isArray(parsed) ? parsed.map((each) => JSON.stringify(each)) : [text.trim()];
};

/** The service that an action's prefix names, in either dialect. */
const serviceOf = (action: string): ServiceName => {
  const prefix = action.slice(0, Math.max(0, action.indexOf(":"))).toLowerCase();
  const found = serviceNames.find((name) => [policyNames[name].public, policyNames[name].documented].includes(prefix));
  if (found === undefined) throw new ConfigError(`no service has actions like "${action}"`);
  return found;
};

/** Decides by the given policies, or by those of the configuration file. */
const decideHere = (
  service: ServiceName,
  request: SimulatePolicyRequest,
  caller: Caller,
  argv: readonly string[],
): Promise<SimulatePolicyResponse> => {
  const sources = { argv, env: process.env, directory: process.cwd() };
  loadConfig(installation, "policy", {}, sources);
  const { everything, ...names } = policyNames[service];
  const app = {
    rules: { spelling: spellingOf(names), ...(everything !== undefined && { everything }) },
    clock: systemClock,
    accounts: openAccounts({ installation, file: configFileOf(sources), clock: systemClock }),
    findResource: () => Promise.resolve(undefined),
  };
  return simulatePolicy(request, { app, caller });
};

/**
 * Asks the running service, for a user that was created at run time with the policies that the gateway keeps. They are
 * called with tokens of the gateway's, so this needs to read the data directory.
 */
const askService = async (
  service: ServiceName,
  address: string | undefined,
  request: SimulatePolicyRequest,
  caller: Caller,
  argv: readonly string[],
): Promise<SimulatePolicyResponse> => {
  const sources = { argv, env: process.env, directory: process.cwd() };
  const config = loadConfig(installation, "gateway", gatewaySettings, sources);
  const tls = openProcessTls(config, systemClock, createLogger({ name: "policy", level: "silent" }));
  const keyPair = await ensureKeyPair(keysDirectory(config), "gateway");
  const minter = createMinter({ keyPair, clock: systemClock });
  const connect = (to: string, audience: string, who: Caller) =>
    createTransport({
      address: to,
      engine: "connect",
      tls: tls.client,
      token: () => minter.mint(who, audience),
      timeoutMs: 10_000,
    });
  const transport = connect(address ?? config[addressSetting(service)], service, caller);
  const keeper = connect(identityAddressOf(config), "identity", { ...caller, isPreauthorized: true });
  try {
    const accounts = openAccounts({ installation, file: configFileOf(sources), clock: systemClock });
    const stored = await findStored(request, accounts, createClient(DirectoryService, keeper));
    return await createClient(PolicyService, transport).simulatePolicy({ ...request, ...stored });
  } finally {
    await transport.close();
    await keeper.close();
  }
};

/** The policies of a user that the gateway keeps; undefined for others, and where the request has the policies. */
const findStored = async (
  { principalArn, identityPolicies, permissionsBoundary: given }: SimulatePolicyRequest,
  accounts: Pick<Accounts, "findUser">,
  client: Client<typeof DirectoryService>,
): Promise<Pick<SimulatePolicyRequest, "identityPolicies" | "permissionsBoundary"> | undefined> => {
  const principal = parsePrincipal(principalArn);
  if (identityPolicies !== undefined || principal?.kind !== "user") return undefined;
  const { accountId, name } = principal;
  if (accounts.findUser(accountId, name) !== undefined) return undefined;
  const { isKnown, documents, permissionsBoundary } = await client.getUserPolicies({ accountId, userName: name });
  if (!isKnown) return undefined;
  const boundary = given ?? permissionsBoundary;
  return {
    identityPolicies: create(PolicyDocumentsSchema, { documents }),
    ...(boundary === undefined ? {} : { permissionsBoundary: boundary }),
  };
};

/** Where the gateway that keeps identities serves their RPCs. */
const identityAddressOf = (
  config: SettingsOf<typeof gatewaySettings> & { readonly tlsCertificate: string },
): string => {
  if (config.identityAddress !== "") return config.identityAddress;
  return `${config.tlsCertificate === "" ? "http" : "https"}://${formatAddress(config.identityListen)}`;
};

const reasons: Readonly<Record<Reason, string>> = {
  [Reason.UNSPECIFIED]: "for a reason that this version does not know",
  [Reason.EXPLICIT_DENY]: "a statement denies it",
  [Reason.NO_ALLOW]: "nothing allows it",
  [Reason.NO_BOUNDARY_ALLOW]: "the principal's permissions boundary does not allow it",
  [Reason.NO_SESSION_ALLOW]: "the session's policies do not allow it",
  [Reason.UNREADABLE_POLICY]: "a policy of the principal cannot be read",
  [Reason.TOO_COSTLY]: "the policies take too long to compare with the request",
  [Reason.OWNER]: "the root of the account needs no policy",
  [Reason.IDENTITY_POLICY]: "a policy of the principal allows it",
  [Reason.RESOURCE_POLICY]: "a policy of the resource allows it",
  [Reason.BOTH_SIDES]: "both accounts' policies allow it",
  [Reason.OWNER_GRANT]: "a grant of the resource's owner allows it",
};

const sides: Readonly<Record<PolicySide, string>> = {
  [PolicySide.UNSPECIFIED]: "other",
  [PolicySide.IDENTITY]: "identity",
  [PolicySide.BOUNDARY]: "boundary",
  [PolicySide.SESSION]: "session",
  [PolicySide.RESOURCE]: "resource",
};

const describePlace = (place: StatementPlace | undefined): string => {
  if (place === undefined) return "";
  const sid = place.sid === "" ? "" : ` (${place.sid})`;
  return `${sides[place.side]} policy ${place.policyIndex}, statement ${place.statementIndex}${sid}`;
};

const describeResponse = ({ isAllowed, reason, statement, nearMisses }: SimulatePolicyResponse): string[] => [
  `${isAllowed ? "allowed" : "refused"}: ${reasons[reason]}`,
  ...(statement === undefined ? [] : [`decided by: ${describePlace(statement)}`]),
  ...nearMisses.map((miss) => {
    const key = miss.failedKey === "" ? "" : ` ${miss.failedKey}`;
    return `nearly matched: ${describePlace(miss.statement)}, ${miss.effect}; failed: ${miss.failedElement}${key}`;
  }),
];

/** The refusal of a service, or of this process in its place, as one sentence; other errors as for every command. */
const describeFailure = (error: unknown): string | undefined => {
  if (error instanceof ConnectError) return error.rawMessage;
  return error instanceof ProtocolError ? error.message : startFailure(error);
};

await runCommand("policy", main, describeFailure);
