import type { DescMessage, DescMethod, MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

import type { HeadersInput } from "../wire/headers-input.ts";
import { isHeaderRecord } from "../wire/headers-input.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { deadlineHeader } from "../wire/timeouts.ts";
import type { EngineOptions } from "./engine.ts";

const paths = new WeakMap<DescMethod, string>();

/** `/package.Service/Method`. */
export const methodPath = (method: DescMethod): string => {
  let path = paths.get(method);
  if (path === undefined) {
    path = `/${method.parent.typeName}/${method.name}`;
    paths.set(method, path);
  }
  return path;
};

/**
 * The names and values of a call's headers: its deadline, the caller's own ones, and the token if they have none. A
 * promise only if the token has to be asked for: each promise shows in the cost of a small call.
 */
export const callHeaderLines = (
  { token }: Pick<EngineOptions, "token">,
  timeoutMs: number | undefined,
  given: HeadersInput | undefined,
): string[] | Promise<string[]> => {
  const lines: string[] = [];
  if (timeoutMs !== undefined) {
    const leftMs = Math.max(0, Math.ceil(timeoutMs));
    lines.push("connect-timeout-ms", String(leftMs), deadlineHeader, String(Date.now() + leftMs));
  }
  let isAuthorized = false;
  const add = (name: string, value: string): void => {
    const key = name.toLowerCase();
    lines.push(key, value);
    isAuthorized ||= key === "authorization";
  };
  // A record is read directly, because creating Headers costs more than the rest of a call's headers.
  if (isHeaderRecord(given)) for (const name in given) add(name, given[name]!);
  else if (given !== undefined) for (const [name, value] of new Headers(given)) add(name, value);
  return token === undefined || isAuthorized ? lines : withToken(lines, token);
};

const withToken = async (lines: string[], token: () => Promise<string>): Promise<string[]> => {
  lines.push("authorization", `Bearer ${await token()}`);
  return lines;
};

/** The message of an answer. Throws ConnectError if the bytes are not one. */
export const decodeAnswer = <D extends DescMessage>(desc: D, bytes: Uint8Array): MessageShape<D> => {
  try {
    return messageCodec(desc).decode(bytes);
  } catch (error) {
    throw new ConnectError("the answer is not a valid message", Code.Internal, undefined, undefined, error);
  }
};
