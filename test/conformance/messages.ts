import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

import type { DescMessage, Message } from "@bufbuild/protobuf";
import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import { anyPack, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/**
 * The runner's messages, as far as the adapters use them. Their protos stand in the runner's own module and are read
 * when it runs (`run.sh`), so their types are written here by hand.
 */
const registry = createFileRegistry(
  fromBinary(FileDescriptorSetSchema, readFileSync(process.env["CONFORMANCE_DESCRIPTORS"] ?? "")),
);

const packageName = "connectrpc.conformance.v1";

export const messageType = (name: string): DescMessage => {
  const desc = registry.getMessage(`${packageName}.${name}`);
  if (desc === undefined) throw new Error(`the runner has no message ${name}`);
  return desc;
};

const found = registry.getService(`${packageName}.ConformanceService`);
if (found === undefined) throw new Error("the runner has no ConformanceService");
export const conformanceService = found;

export interface HeaderLines {
  readonly name: string;
  readonly value: readonly string[];
}

export interface ErrorDefinition {
  readonly code: number;
  readonly message?: string;
  readonly details: readonly Any[];
}

export interface Credentials {
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
}

export interface ServerCompatRequest extends Message {
  readonly useTls: boolean;
  readonly clientTlsCert: Uint8Array;
  readonly messageReceiveLimit: number;
  readonly serverCreds?: Credentials;
}

/** What the server is asked to answer: to a call with one answer, or with many. */
export interface ResponseDefinition {
  readonly responseHeaders: readonly HeaderLines[];
  readonly responseTrailers: readonly HeaderLines[];
  readonly responseDelayMs: number;
  /** One answer. */
  readonly response?: { readonly case?: string; readonly value?: unknown };
  /** Many answers, and how they end. */
  readonly responseData?: readonly Uint8Array[];
  readonly error?: ErrorDefinition;
}

export interface ConformanceRequest extends Message {
  readonly responseDefinition?: ResponseDefinition;
  readonly fullDuplex?: boolean;
}

export interface ClientCompatRequest extends Message {
  readonly testName: string;
  readonly protocol: number;
  readonly host: string;
  readonly port: number;
  readonly serverTlsCert: Uint8Array;
  readonly clientTlsCreds?: Credentials;
  readonly messageReceiveLimit: number;
  readonly method?: string;
  readonly streamType: number;
  readonly requestHeaders: readonly HeaderLines[];
  readonly requestMessages: readonly Any[];
  readonly timeoutMs?: number;
  readonly requestDelayMs: number;
  readonly cancel?: { readonly cancelTiming: { readonly case?: string; readonly value?: unknown } };
}

/** The messages on a stream, each after its length in four bytes. */
export async function* readMessages<T extends Message>(source: Readable, desc: DescMessage): AsyncGenerator<T> {
  let held = Buffer.alloc(0);
  for await (const chunk of source as AsyncIterable<Buffer>) {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 4 && held.length >= 4 + held.readUInt32BE(0)) {
      const end = 4 + held.readUInt32BE(0);
      yield fromBinary(desc, held.subarray(4, end)) as unknown as T;
      held = held.subarray(end);
    }
  }
}

export const writeMessage = (sink: Writable, desc: DescMessage, init: Record<string, unknown>): void => {
  const bytes = toBinary(desc, create(desc, init));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  sink.write(Buffer.concat([length, bytes]));
};

export const packed = (message: Message): Any => {
  const desc = registry.getMessage(message.$typeName);
  if (desc === undefined) throw new Error(`the runner has no message ${message.$typeName}`);
  return anyPack(desc, message);
};

/** Headers as the runner compares them: lines of one name are one entry with several values. */
export const headerLines = (headers: Iterable<[string, string]>): HeaderLines[] =>
  [...headers].map(([name, value]) => ({ name, value: value.split(/,\s*/) }));
