import type { DescEnum, DescService } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";

import type { ServiceHealth } from "../services/kit/client/service-health.ts";
import { Protocol } from "../gen/quartet/traits/v1/api_pb.ts";
import type { MethodContract, ServiceApi } from "../services/kit/contract/contract.ts";
import { methodContract, serviceApi } from "../services/kit/contract/contract.ts";
import type { RequestReports } from "./reports/request-reports.ts";
import type { FaultTable } from "../services/kit/faults/service-error.ts";
import { faultTable } from "../services/kit/faults/service-error.ts";
import type { MethodRoutes } from "./bindings/method-routes.ts";
import { compileRoutes } from "./bindings/method-routes.ts";
import type { Subresources } from "./bindings/subresources.ts";
import { subresourcesOf } from "./bindings/subresources.ts";
import type { Codec } from "./codecs/codec.ts";
import { queryCodec } from "./codecs/query.ts";
import * as restJson from "./codecs/rest-json.ts";
import * as restXml from "./codecs/rest-xml.ts";
import * as targetJson from "./codecs/target-json.ts";

/** A service and the transport to it. */
export interface ServiceConnection {
  readonly service: DescService;
  /** The service's ErrorReason. */
  readonly errors: DescEnum;
  readonly transport: Transport;
  /** Unset: the service is called whether it hangs or not. */
  readonly health?: ServiceHealth;
  /** Sends the reports that the service asks for. Unset: it is not asked. */
  readonly reports?: RequestReports;
}

/** Everything that the gateway derives once from the descriptors of a service. */
export interface ApiBinding {
  readonly api: ServiceApi;
  readonly codec: Codec;
  readonly routes: MethodRoutes;
  /** Methods by name, for the target header. */
  readonly operations: ReadonlyMap<string, MethodContract>;
  readonly subresources: Subresources;
  readonly faults: FaultTable;
  readonly transport: Transport;
  readonly health: ServiceHealth | undefined;
  readonly reports: RequestReports | undefined;
}

/** Derives a service's binding. */
export const bindApi = (connection: ServiceConnection): ApiBinding => {
  const api = serviceApi(connection.service);
  return {
    api,
    codec: codecOf(api),
    routes: compileRoutes(connection.service),
    subresources: subresourcesOf(connection.service),
    operations: new Map(connection.service.methods.map((method) => [method.name, methodContract(method)])),
    faults: faultTable(connection.errors),
    transport: connection.transport,
    health: connection.health,
    reports: connection.reports,
  };
};

const codecs: Readonly<Record<Protocol, Codec | undefined>> = {
  [Protocol.UNSPECIFIED]: undefined,
  [Protocol.REST_JSON]: restJson,
  [Protocol.TARGET_JSON]: targetJson,
  [Protocol.REST_XML]: restXml,
  [Protocol.QUERY]: undefined,
};

const codecOf = (api: ServiceApi): Codec => {
  const codec = api.protocol === Protocol.QUERY ? queryCodec(api.xmlNamespace) : codecs[api.protocol];
  if (codec === undefined) throw new Error("a service declares no protocol");
  return codec;
};
