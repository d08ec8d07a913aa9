import type { DescService } from "@bufbuild/protobuf";

import type { HttpContract, MethodContract } from "../../services/kit/contract/contract.ts";
import { methodContract, serviceApi } from "../../services/kit/contract/contract.ts";
import type { QueryParameters } from "../http/query.ts";
import { ErrorReason, refusal } from "../refusal.ts";

/** The query parameters by which clients name a part of a resource, such as the `policy` of a bucket. */
export type Subresources = ReadonlySet<string>;

/**
 * The subresources of a service: of each route its parameters without a value, or if it has none the parameters that it
 * requires; and those that the service declares without offering an operation on them.
 */
export const subresourcesOf = (service: DescService): Subresources => {
  const routes = service.methods.map((method) => methodContract(method).http).filter((http) => http !== undefined);
  return new Set([...routes.flatMap(routeSubresources), ...serviceApi(service).unofferedSubresources]);
};

const routeSubresources = ({ template, requiredQuery }: HttpContract): readonly string[] => {
  const named = template.query.filter(({ value }) => value === undefined).map(({ name }) => name);
  return named.length > 0 ? named : requiredQuery;
};

/**
 * Refuses a request that names a subresource which the chosen method does not use: it means an operation on the
 * subresource, and a request for the policy of a bucket must not list the bucket. A request that may change something
 * names one by any parameter without a value: clients know subresources that are younger than the contract, and
 * deleting one must not delete the object. Throws SUBRESOURCE_NOT_OFFERED.
 */
export const refuseOtherSubresources = (
  subresources: Subresources,
  query: QueryParameters,
  httpMethod: string,
  method: MethodContract | undefined,
): void => {
  const isRead = readMethods.has(httpMethod);
  for (const { name, value } of query.all) {
    const namesSubresource = subresources.has(name) || (!isRead && value === "" && !isOfDialect(name));
    if (namesSubresource && !usesParameter(method, name))
      throw refusal(ErrorReason.SUBRESOURCE_NOT_OFFERED, { parameter: name });
  }
};

const readMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Parameters such as `X-Amz-Security-Token` and `x-id`, which other stages read. */
const isOfDialect = (name: string): boolean => /^x-/i.test(name);

const usesParameter = (method: MethodContract | undefined, name: string): boolean =>
  method !== undefined &&
  (method.http?.template.query.some((part) => part.name === name) === true ||
    method.http?.requiredQuery.includes(name) === true ||
    method.input.fields.some(({ location }) => location.kind === "query" && location.name === name));
