import type { Message } from "@bufbuild/protobuf";

import type { Protocol } from "../../gen/quartet/traits/v1/api_pb.ts";
import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { FaultTable } from "../../services/kit/faults/service-error.ts";
import type { DialectSpelling } from "../dialects/dialect.ts";

/** What the errors of a request are written with: its service's reasons, its protocol and its dialect. */
export interface FaultContext {
  readonly table: FaultTable;
  readonly protocol: Protocol;
  readonly spelling: DialectSpelling;
  /** The call that was refused; undefined if the request was refused before it was bound to one. */
  readonly bound: { readonly method: MethodContract; readonly message: Message } | undefined;
}
