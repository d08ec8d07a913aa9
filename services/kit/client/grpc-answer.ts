import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";

import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { codeOfNumber } from "../wire/codes.ts";
import { markUnprocessed } from "../wire/unprocessed.ts";
import type { HeadersInput } from "../wire/headers-input.ts";

/** How a gRPC call ended. */
interface GrpcStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

const detailsKey = "grpc-status-details-bin";

/** A call that has ended. */
interface EndedCall {
  getPeer(): string;
}

/**
 * The error of a failed call, marked as unprocessed if it was not sent: until then its peer is the channel's own
 * target.
 */
export const errorOfCall = (status: GrpcStatus, call: EndedCall, channelTarget: string): ConnectError => {
  const error = errorOfStatus(status);
  const isNotSent = error.code === Code.Unavailable && call.getPeer() === channelTarget;
  return isNotSent ? markUnprocessed(error) : error;
};

/** Request headers as gRPC metadata; names that end in -bin carry bytes. */
export const toMetadata = (header: HeadersInput | undefined): Metadata => {
  const metadata = new Metadata();
  if (header === undefined) return metadata;
  new Headers(header).forEach((value, name) => {
    metadata.add(name, name.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  });
  return metadata;
};

/** gRPC metadata as headers; bytes become base64. */
export const toHeaders = (metadata: Metadata | undefined): Headers => {
  const headers = new Headers();
  if (metadata === undefined) return headers;
  for (const name of Object.keys(metadata.getMap()))
    for (const value of metadata.get(name))
      headers.append(name, typeof value === "string" ? value : value.toString("base64"));
  return headers;
};

/** The error of a failed call, with the details that the server sent. */
export const errorOfStatus = (status: GrpcStatus | null): ConnectError => {
  if (status === null) return new ConnectError("the call ended without an answer", Code.Unimplemented);
  // Contrary to its types, the channel sets neither code nor text for a message that it cannot decompress.
  const { code, details } = status as { readonly code?: number; readonly details?: string };
  const known = code === undefined ? Code.Internal : codeOfNumber(code);
  const error = new ConnectError(details ?? "", known, toHeaders(status.metadata));
  const [bytes] = status.metadata.get(detailsKey);
  if (bytes === undefined || typeof bytes === "string") return error;
  try {
    error.details = fromBinary(StatusSchema, bytes).details.map(({ typeUrl, value }) => ({
      type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
      value,
    }));
  } catch {
    // Unreadable details are left out; the code and the message are valid without them.
  }
  return error;
};
