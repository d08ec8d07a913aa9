import { dirname, join } from "node:path";

import { sectionName } from "../kit/config/config-file.ts";

/** The services. A service's name is also that of its API, its directory and its key pair. */
export const serviceNames = ["customer-profile", "refactoring-workspace", "event-bus", "object-storage"] as const;

export type ServiceName = (typeof serviceNames)[number];
export type ProcessName = ServiceName | "gateway";

/** Where a process listens: the setting that holds the address, and the port on loopback that is its default. */
export interface Listener {
  readonly setting: string;
  readonly port: number;
}

/** The script that runs a process, whose name is its first argument. */
export const runner = join(import.meta.dirname, "..", "run.cjs");

/** One process of an installation. */
export interface ProcessDeclaration {
  /** Its script, from the root of the repository. */
  readonly script: string;
  /** Its listeners by purpose, as its ready message names them. Each service has `rpc`. */
  readonly listeners: Readonly<Record<string, Listener>>;
  /** The services that it calls. They stop after it. */
  readonly calls: readonly ServiceName[];
  /** Services that it calls for delayed work only: they start and stop in any order. */
  readonly callsLater: readonly ServiceName[];
  /** It encrypts what it stores: its directory holds master keys. */
  readonly hasMasterKeys: boolean;
  /** Flags of Node that V8 reads only when a process begins; `npm run start:<name>` has them too. */
  readonly nodeFlags: readonly string[];
  /** It checks signatures: the secrets of access keys are in its environment, and in no other's. */
  readonly hasAccessKeys: boolean;
}

/**
 * Bounds the space of new objects to 32 MiB instead of 128 (services/decisions/0079). What requests read and write lies
 * in buffers outside of the heap, which are garbage until new objects are collected: with more space so many gather
 * that V8 marks the whole heap for them, again and again (services/decisions/0113).
 */
const newObjectsFlag = "--max-semi-space-size=16";

/**
 * Lets the garbage among old objects grow to as much as is in use, instead of to three times as much
 * (services/decisions/0120). What it refers to outside of the heap may be several times its size.
 */
const oldObjectsFlag = "--heap-growing-percent=100";

const service = (
  name: ServiceName,
  rpcPort: number,
  further: Partial<Omit<ProcessDeclaration, "script">> = {},
): ProcessDeclaration => ({
  script: `services/${name}/main.ts`,
  calls: [],
  callsLater: [],
  hasMasterKeys: false,
  hasAccessKeys: false,
  nodeFlags: [],
  ...further,
  listeners: { rpc: { setting: "listen", port: rpcPort }, ...further.listeners },
});

/**
 * The processes of an installation: their ports, whom they call, and so the order in which they stop. Settings, the
 * launcher, the gateway's connections and the tools derive from this table.
 */
export const processes: Readonly<Record<ProcessName, ProcessDeclaration>> = {
  "customer-profile": service("customer-profile", 50_051, {
    callsLater: ["object-storage"],
    hasMasterKeys: true,
    nodeFlags: [newObjectsFlag, oldObjectsFlag],
  }),
  "refactoring-workspace": service("refactoring-workspace", 50_052, {
    listeners: { proxy: { setting: "proxyListen", port: 8_081 } },
    nodeFlags: [newObjectsFlag, oldObjectsFlag],
  }),
  "event-bus": service("event-bus", 50_053, {
    callsLater: ["object-storage"],
    hasMasterKeys: true,
    nodeFlags: [newObjectsFlag, oldObjectsFlag],
  }),
  "object-storage": service("object-storage", 50_054, {
    calls: ["event-bus"],
    hasMasterKeys: true,
    nodeFlags: [newObjectsFlag, oldObjectsFlag],
  }),
  gateway: {
    script: "gateway/main.ts",
    listeners: {
      http: { setting: "listen", port: 8_080 },
      grpc: { setting: "rpcListen", port: 8_082 },
      admin: { setting: "adminListen", port: 8_089 },
      rpc: { setting: "identityListen", port: 50_055 },
    },
    calls: serviceNames,
    callsLater: [],
    hasMasterKeys: true,
    hasAccessKeys: true,
    nodeFlags: [newObjectsFlag],
  },
};

export const processNames: readonly ProcessName[] = [...serviceNames, "gateway"];

/** Groups of processes in an order in which each comes after all that it calls; they stop in the reverse order. */
export const startOrder = (): ReadonlyArray<readonly ProcessName[]> => {
  const groups: Array<readonly ProcessName[]> = [];
  const started = new Set<ProcessName>();
  while (started.size < processNames.length) {
    const group = processNames.filter(
      (name) => !started.has(name) && processes[name].calls.every((callee) => started.has(callee)),
    );
    if (group.length === 0) throw new Error("processes that call each other in a circle cannot start");
    groups.push(group);
    for (const name of group) started.add(name);
  }
  return groups;
};

/** The default address of a listener, as its setting is written: `127.0.0.1:50053`. */
export const defaultAddress = (name: ProcessName, purpose: string): string => {
  const listener = processes[name].listeners[purpose];
  if (listener === undefined) throw new Error(`${name} has no listener for ${purpose}`);
  return `127.0.0.1:${listener.port}`;
};

type CamelCase<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** A caller's setting with the address of a service: `eventBusAddress`. */
export type AddressSetting<Name extends ServiceName = ServiceName> = `${CamelCase<Name>}Address`;

export const addressSetting = <Name extends ServiceName>(name: Name): AddressSetting<Name> =>
  `${sectionName(name)}Address` as AddressSetting<Name>;

/**
 * The socket of a further process of the gateway, which serves its health and metrics, next to that of the first:
 * `gateway-2.sock`.
 */
export const workerSocket = (firstSocket: string, worker: number): string =>
  join(dirname(firstSocket), `gateway-${worker}.sock`);
