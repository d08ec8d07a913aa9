import { createSecureContext } from "node:tls";

import type { DescMessage, DescMethod, MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type { CallOptions, ChannelCredentials } from "@grpc/grpc-js";
import { Client, credentials, Metadata } from "@grpc/grpc-js";

import { connectionOptions } from "../tls/client-tls.ts";
import type { HeadersInput } from "../wire/headers-input.ts";
import { messageCodec } from "../wire/message-codec.ts";
import { deadlineHeader } from "../wire/timeouts.ts";
import { UnaryAnswer } from "./answers.ts";
import { toHeaders, toMetadata } from "./grpc-answer.ts";
import { startGrpcStream } from "./grpc-stream-call.ts";
import { grpcUnaryCall } from "./grpc-unary-call.ts";
import type { ClosableTransport, EngineOptions } from "./engine.ts";

/** Bytes of one answer in transit; with the protocol's default of 64 KiB each chunk would wait for the reader. */
const windowBytes = 16 * 1024 * 1024;

/** Calls in gRPC over HTTP/2, through channels that are shared by all calls. */
export const createGrpcEngine = (options: EngineOptions): ClosableTransport => {
  const client = new Client(targetOf(options.address), credentialsOf(options), {
    "grpc.max_receive_message_length": options.limits.messageBytesMax,
    "grpc.max_send_message_length": -1,
    "grpc-node.flow_control_window": windowBytes,
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 5000,
    // Two engines for the same address do not share a connection, so closing one leaves the other alone.
    "grpc.use_local_subchannel_pool": 1,
    "grpc.enable_channelz": 0,
    // The channel repeats calls that the server did not process: a refused stream, or one that its GOAWAY excludes. All
    // other repetitions, and the choice of the address, are the transport's. If one name has several addresses, the
    // channel uses them in turn.
    "grpc.enable_retries": 1,
    "grpc.per_rpc_retry_buffer_size": 256 * 1024,
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    ...(options.tls?.serverName && { "grpc.ssl_target_name_override": options.tls.serverName }),
  });

  const channel = client.getChannel();

  // Calls without own headers share the metadata of their token; the channel copies it before it adds to it.
  let shared: { readonly token: string | undefined; readonly metadata: Metadata } | undefined;
  const metadataOf = async (header: HeadersInput, timeoutMs: number | undefined): Promise<Metadata> => {
    const metadata = await authorizedMetadata(header);
    if (timeoutMs === undefined) return metadata;
    const own = metadata.clone();
    own.set(deadlineHeader, String(Date.now() + Math.max(0, Math.ceil(timeoutMs))));
    return own;
  };
  const authorizedMetadata = async (header: HeadersInput): Promise<Metadata> => {
    if (header !== undefined) {
      const metadata = toMetadata(header);
      return metadata.get("authorization").length > 0 ? metadata : withToken(metadata, await options.token?.());
    }
    const token = await options.token?.();
    if (shared === undefined || shared.token !== token) shared = { token, metadata: withToken(new Metadata(), token) };
    return shared.metadata;
  };

  const unary: Transport["unary"] = async (method, signal, timeoutMs, givenHeader, input) => {
    const { message, header, trailer } = await grpcUnaryCall(channel, {
      path: pathOf(method),
      metadata: await metadataOf(givenHeader, timeoutMs),
      message: serialize(method.input, input),
      timeoutMs,
      signal,
    });
    const answer = messageCodec(method.output).decode(message);
    return new UnaryAnswer(method, answer, () => ({ header: toHeaders(header), trailer: toHeaders(trailer) }));
  };

  const stream: Transport["stream"] = async (method, signal, timeoutMs, header, input) => {
    const metadata = await metadataOf(header, timeoutMs);
    const call = client.makeBidiStreamRequest(
      pathOf(method),
      (message: MessageInitShape<DescMessage>) => serialize(method.input, message),
      (bytes: Buffer) => messageCodec(method.output).decode(bytes),
      metadata,
      callOptions(timeoutMs),
    );
    return startGrpcStream(call, method, signal, input, channel);
  };

  return {
    unary,
    stream,
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
};

const withToken = (metadata: Metadata, token: string | undefined): Metadata => {
  if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
  return metadata;
};

const pathOf = (method: DescMethod): string => `/${method.parent.typeName}/${method.name}`;

/** An address in gRPC's notation. */
const targetOf = (address: string): string => {
  if (address.startsWith("unix:")) return address;
  const { protocol, hostname, port } = new URL(address);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
};

/** The channel keeps the files' content of its creation. */
const credentialsOf = ({ address, tls }: EngineOptions): ChannelCredentials => {
  if (!address.startsWith("https:")) return credentials.createInsecure();
  return credentials.createFromSecureContext(createSecureContext(connectionOptions(tls)));
};

const callOptions = (timeoutMs: number | undefined): CallOptions =>
  timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };

/** A gRPC channel accepts a message only as one buffer, so the parts are joined here. */
const serialize = (desc: DescMessage, message: MessageInitShape<DescMessage>): Buffer => {
  const { parts, byteLength } = messageCodec(desc).encode(message);
  const [only] = parts;
  return parts.length === 1 && only !== undefined
    ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
    : Buffer.concat(parts, byteLength);
};
