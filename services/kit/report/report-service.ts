import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import type {
  ReportRequestsRequest,
  ReportRequestsResponseSchema,
  RequestReport,
} from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import { RequestReportService } from "../../../gen/quartet/kit/report/v1/request_report_service_pb.ts";
import type { CallContext, Handlers } from "../server/handlers.ts";
import type { OfferedService } from "../server/route.ts";
import { ProtocolError } from "../wire/protocol-error.ts";

/** Where reports of requests are stored. */
export interface ReportStore {
  /** Resolves when the reports are stored. */
  store(reports: readonly RequestReport[]): Promise<void>;
}

/** The one method that the gateway calls in its own name. */
export const reportMethod = RequestReportService.method.reportRequests.name;

/** Offers the receipt of reports on the server of a service. */
export const reportService = (store: ReportStore): OfferedService => ({
  service: RequestReportService,
  handlers,
  app: store,
});

/** Stores reports. Refuses everybody but the gateway in its own name: PERMISSION_DENIED. */
const reportRequests = async (
  { reports }: ReportRequestsRequest,
  { app, caller }: CallContext<ReportStore>,
): Promise<MessageInitShape<typeof ReportRequestsResponseSchema>> => {
  if (caller.isPreauthorized !== true || caller.issuer !== gatewayIssuer)
    throw new ProtocolError(Code.PermissionDenied, "Only the gateway may report requests.");
  if (reports.length > 0) await app.store(reports);
  return {};
};

const gatewayIssuer = "gateway";

const handlers: Handlers<typeof RequestReportService, ReportStore> = { reportRequests };
