import { ConnectError } from "@connectrpc/connect";

import type { ErrorInfo } from "../../gen/google/rpc/error_details_pb.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { ErrorReasonSchema as CustomerProfileReasons } from "../../gen/quartet/customerprofile/v1/error_reason_pb.ts";
import { ErrorReasonSchema as EventBusReasons } from "../../gen/quartet/eventbus/v1/error_reason_pb.ts";
import { ErrorReasonSchema as ObjectStorageReasons } from "../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import { ErrorReasonSchema as WorkspaceReasons } from "../../gen/quartet/refactoringworkspace/v1/error_reason_pb.ts";
import { faultTable } from "../../services/kit/faults/service-error.ts";

const tables = [CustomerProfileReasons, EventBusReasons, ObjectStorageReasons, WorkspaceReasons].map(faultTable);

const detailOf = (refusal: ConnectError): ErrorInfo | undefined => refusal.findDetails(ErrorInfoSchema)[0];

/**
 * What a call was refused with: `REASON: message` where the message varies, `REASON` where the contract declares all of
 * it; `answered` when the call was not refused.
 */
export const refusalOf = async (call: Promise<unknown>): Promise<string> => {
  try {
    await call;
    return "answered";
  } catch (error) {
    const refusal = ConnectError.from(error);
    const detail = detailOf(refusal);
    const facts = tables.find(({ domain }) => domain === detail?.domain)?.findByReason(detail?.reason ?? "");
    return facts?.message === refusal.rawMessage ? facts.reason : `${detail?.reason}: ${refusal.rawMessage}`;
  }
};

/** What varies in a refusal, by name. Throws when the call was not refused. */
export const metadataOf = async (call: Promise<unknown>): Promise<Record<string, string>> => {
  try {
    await call;
  } catch (error) {
    return detailOf(ConnectError.from(error))?.metadata ?? {};
  }
  throw new Error("the call was not refused");
};
