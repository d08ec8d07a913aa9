import type { EndpointSetting } from "../config/config.ts";
import type { ServiceEndpoint } from "./service-client.ts";

/** The configured endpoints, whose signatures name a region even if the setting leaves it out. */
export const endpointsOf = <Name extends string>(
  endpoints: Readonly<Partial<Record<Name, EndpointSetting | undefined>>>,
  regionOf: (name: string) => string,
): Partial<Record<Name, ServiceEndpoint | undefined>> =>
  Object.fromEntries(
    Object.entries<EndpointSetting | undefined>(endpoints).map(([name, endpoint]) => [
      name,
      endpoint && { ...endpoint, region: endpoint.region ?? regionOf(name) },
    ]),
  ) as Partial<Record<Name, ServiceEndpoint | undefined>>;
