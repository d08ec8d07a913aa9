import type { CallContext } from "../../kit/server/handlers.ts";
import type { Application } from "../application.ts";
import { ErrorReason, fault } from "../faults.ts";

/** The request header, or RPC metadata, by which a caller chooses a revision of the interface. */
export const revisionHeader = "x-svc-revision";

/** What the revisions of the interface promise differently. Operations ask here and never for a revision's name. */
export interface Revision {
  readonly name: string;
  /** Whether there are operations on global endpoints, and an EndpointId of PutEvents. */
  readonly hasEndpoints: boolean;
  /** Levels of objects and lists in the detail of an event. */
  readonly depthMax: number;
  /** Whether a rule has as many targets as the installation allows at most, or as many as calls put. */
  readonly limitsTargets: boolean;
  /** Whether a rule of a bus that is not there is refused when it is deleted, or counts as deleted. */
  readonly refusesDeletionWithoutBus: boolean;
  /** Whether the source by which replays are listed is an archive alone, or also the bus that fed it. */
  readonly listsReplaysByArchiveOnly: boolean;
  /** Whether the policy of every bus is limited to the documented length, or only that of the default bus. */
  readonly limitsEveryPolicy: boolean;
  /** Whether a grant may name any action, or only that of putting events. */
  readonly grantsAnyAction: boolean;
}

/** The later revision, which is meant where a caller chooses none. */
export const revisionA: Revision = {
  name: "A",
  hasEndpoints: true,
  depthMax: 1_100,
  limitsTargets: true,
  refusesDeletionWithoutBus: true,
  listsReplaysByArchiveOnly: true,
  limitsEveryPolicy: true,
  grantsAnyAction: true,
};

/** The earlier revision. It states no depth; this one is what the matcher's stack bears with room to spare. */
export const revisionB: Revision = {
  name: "B",
  hasEndpoints: false,
  depthMax: 2_000,
  limitsTargets: false,
  refusesDeletionWithoutBus: false,
  listsReplaysByArchiveOnly: false,
  limitsEveryPolicy: false,
  grantsAnyAction: false,
};

/** The revision that a call is made in. Throws UNKNOWN_REVISION. */
export const revisionOf = ({ requestHeader }: Pick<CallContext<Application>, "requestHeader">): Revision => {
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

/** Refuses a call in a revision that is not known, or that does not know the operation. */
export const refuseOutsideRevision = ({ method, requestHeader }: CallContext<Application>): void => {
  const { name, hasEndpoints } = revisionOf({ requestHeader });
  if (!hasEndpoints && endpointOperations.has(method.localName))
    throw fault(ErrorReason.UNKNOWN_OPERATION, { operation: method.name, revision: name });
};
