import type { DescMethod } from "@bufbuild/protobuf";

import type { RequestHeaders } from "../../kit/server/request-headers.ts";
import { ErrorReason, fault } from "../faults.ts";

/** The request header, or RPC metadata, by which a caller chooses a revision of the interface. */
const revisionHeader = "x-svc-revision";

/** The differences between the revisions of the interface. Operations read them and never compare a revision's name. */
export interface Revision {
  readonly name: string;
  /** Whether there are operations on global endpoints, and PutEvents has an EndpointId. */
  readonly hasEndpoints: boolean;
  /** Levels of objects and lists in the detail of an event. */
  readonly depthMax: number;
  /** Whether the installation's limit on the targets of a rule holds; otherwise a rule may have any number. */
  readonly limitsTargets: boolean;
  /** Whether deleting a rule of a bus that does not exist is refused; otherwise the rule counts as deleted. */
  readonly refusesDeletionWithoutBus: boolean;
  /** Whether replays are listed by an archive only; otherwise also by the bus that fed the archive. */
  readonly listsReplaysByArchiveOnly: boolean;
  /** Whether the documented length limits the policy of every bus; otherwise only that of the default bus. */
  readonly limitsEveryPolicy: boolean;
  /** Whether a grant may name any action; otherwise only events:PutEvents. */
  readonly grantsAnyAction: boolean;
}

/** The later revision, used when a caller chooses none. */
const revisionA: Revision = {
  name: "A",
  hasEndpoints: true,
  depthMax: 1_100,
  limitsTargets: true,
  refusesDeletionWithoutBus: true,
  listsReplaysByArchiveOnly: true,
  limitsEveryPolicy: true,
  grantsAnyAction: true,
};

/** The earlier revision. It documents no depth; the matcher's stack is large enough for this one with room to spare. */
const revisionB: Revision = {
  name: "B",
  hasEndpoints: false,
  depthMax: 2_000,
  limitsTargets: false,
  refusesDeletionWithoutBus: false,
  listsReplaysByArchiveOnly: false,
  limitsEveryPolicy: false,
  grantsAnyAction: false,
};

/** The revision in which a call is made. Throws UNKNOWN_REVISION. */
export const revisionOf = (requestHeader: RequestHeaders): Revision => {
  const name = requestHeader.get(revisionHeader) ?? revisionA.name;
  const revision = [revisionA, revisionB].find((each) => each.name === name);
  if (revision === undefined) throw fault(ErrorReason.UNKNOWN_REVISION, { revision: name });
  return revision;
};

const endpointOperations = new Set([
  "createEndpoint",
  "deleteEndpoint",
  "describeEndpoint",
  "listEndpoints",
  "updateEndpoint",
]);

/** Throws UNKNOWN_OPERATION if the revision does not have the operation. */
export const refuseOutsideRevision = ({ name, hasEndpoints }: Revision, method: DescMethod): void => {
  if (!hasEndpoints && endpointOperations.has(method.localName))
    throw fault(ErrorReason.UNKNOWN_OPERATION, { operation: method.name, revision: name });
};
