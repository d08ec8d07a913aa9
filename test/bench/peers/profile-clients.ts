import { createClient } from "@connectrpc/connect";
import { Pool } from "undici";

import { amzDialect } from "../../../gateway/dialects/amz.ts";
import { CustomerProfileService } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { createTransport } from "../../../services/kit/client/transport.ts";
import type { TestRequest } from "../../gateway/support/signing-client.ts";
import { signHeaders } from "../../gateway/support/signing-client.ts";
import type { InstallationPeer } from "./installation.ts";
import { playPeer } from "./peer.ts";
import { domainName, knownCount, objectTypeName, profile, soughtAccount, ticket } from "./shopper.ts";

/** What one client process calls, and how; in JSON, the role of the process. */
export interface ProfileRole {
  readonly kind: ProfileKind;
  /** `rpc`: directly to the service. `gateway`: as stock clients sign requests. */
  readonly by: "rpc" | "gateway";
  readonly clients: number;
  /** The number of the first profile or object that it creates, so that each is another one. */
  readonly first: number;
  readonly installation: InstallationPeer;
}

/** `create`: a profile. `object`: an object that creates a profile. `search`: a profile by one of its keys. */
export type ProfileKind = "create" | "object" | "search";

type Call = (number: number) => Promise<unknown>;

const rpcCalls = ({ installation }: ProfileRole): Readonly<Record<ProfileKind, Call>> => {
  const { url, token } = installation.profiles;
  const client = createClient(
    CustomerProfileService,
    createTransport({ address: url, engine: "connect", token: async () => token }),
  );
  return {
    create: (number) => client.createProfile({ domainName, ...profile(number) }),
    object: (number) => client.putProfileObject({ domainName, objectTypeName, object: ticket(number) }),
    search: async (number) => {
      const account = soughtAccount(number);
      const { items } = await client.searchProfiles({ domainName, keyName: "_account", values: [account] });
      if (items[0]?.accountNumber !== account) throw new Error(`${account} was not found`);
    },
  };
};

const gatewayCalls = ({ installation, clients }: ProfileRole): Readonly<Record<ProfileKind, Call>> => {
  const { gatewayUrl, accessKeyId, secretAccessKey } = installation;
  const { host } = new URL(gatewayUrl);
  const pool = new Pool(gatewayUrl, { connections: clients, pipelining: 1 });
  const send = async (method: string, path: string, document: object): Promise<string> => {
    const body = JSON.stringify(document);
    const request: TestRequest = {
      method,
      target: `/domains/${domainName}/profiles${path}`,
      headers: { "content-type": "application/json" },
      body,
    };
    const signing = { brand: amzDialect.signature, service: "profile", nowMs: Date.now(), tellsHash: false };
    const headers = signHeaders(request, host, { ...signing, accessKeyId, secret: secretAccessKey });
    const answer = await pool.request({ path: request.target, method, headers, body });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(text);
    return text;
  };
  return {
    create: (number) =>
      send(
        "POST",
        "",
        Object.fromEntries(
          Object.entries(profile(number)).map(([name, value]) => [`${name[0]?.toUpperCase()}${name.slice(1)}`, value]),
        ),
      ),
    object: (number) => send("PUT", "/objects", { ObjectTypeName: objectTypeName, Object: ticket(number) }),
    search: async (number) => {
      const account = soughtAccount(number);
      const found = await send("POST", "/search", { KeyName: "_account", Values: [account] });
      if (!found.includes(`"${account}"`)) throw new Error(`${account} was not found`);
    },
  };
};

const role = JSON.parse(process.argv[2] ?? "") as ProfileRole;
const call = (role.by === "rpc" ? rpcCalls(role) : gatewayCalls(role))[role.kind];
let next = role.first;

/** Creates the profiles that searches look for. */
const start = async (): Promise<string> => {
  const { url, token } = role.installation.profiles;
  const transport = createTransport({ address: url, engine: "connect", token: async () => token });
  const client = createClient(CustomerProfileService, transport);
  await client.createDomain({ domainName, defaultExpirationDays: 30 });
  let created = 0;
  const createAll = async (): Promise<void> => {
    while (created < knownCount) await client.createProfile({ domainName, ...profile(created++) });
  };
  await Promise.all(Array.from({ length: role.clients }, createAll));
  await transport.close();
  return url;
};

/** Keeps as many calls in flight as there are clients, until so many were made; answers how many. */
const run = async (_address: string, _ms: number, callsMax = 0): Promise<number> => {
  const end = next + callsMax;
  const callOn = async (): Promise<void> => {
    while (next < end) await call(next++);
  };
  await Promise.all(Array.from({ length: role.clients }, callOn));
  return callsMax;
};

playPeer({ start, run });
