import type { DescMethod, DescService } from "@bufbuild/protobuf";

import { Protocol } from "../../../gen/quartet/traits/v1/api_pb.ts";
import type { HttpContract } from "./contract.ts";
import { findServiceApi, methodContract } from "./contract.ts";
import { requestLocationProblems, responseLocationProblems } from "./binding-locations.ts";

/** A contract whose requests are ambiguous or incomplete over HTTP. */
export class ContractError extends Error {
  override readonly name = "ContractError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`the contract has ${problems.length} problem(s):\n  ${problems.join("\n  ")}`);
    this.problems = problems;
  }
}

/**
 * Checks that every operation of the services can be distinguished from every other and that every member
 * has exactly one location. Throws a ContractError with all problems at once; skips services without an API.
 */
export const checkRoutes = (services: readonly DescService[]): void => {
  const problems = services.filter((service) => findServiceApi(service) !== undefined).flatMap(serviceProblems);
  const names = services.map((service) => findServiceApi(service)?.name).filter((name) => name !== undefined);
  for (const name of duplicates(names)) problems.push(`API ${name} is declared by more than one service`);
  const fallbacks = services.filter((service) => findServiceApi(service)?.isFallback === true);
  if (fallbacks.length > 1)
    problems.push(
      `${fallbacks.map(({ name }) => name).join(" and ")} are each the fallback of requests that name no API`,
    );
  if (problems.length > 0) throw new ContractError(problems);
};

/**
 * The parts that two indistinguishable routes share: the method, the path without label names, and the
 * sorted conditions on query and headers.
 */
const routeShape = (http: HttpContract): string => {
  const path = http.template.segments
    .map((segment) => (segment.kind === "literal" ? segment.text : segment.kind === "label" ? "{}" : "{+}"))
    .join("/");
  const query = http.template.query.map((part) =>
    part.value === undefined ? part.name : `${part.name}=${part.value}`,
  );
  const conditions = [...query, ...http.requiredQuery].toSorted().join("&");
  const headers = http.requiredHeaders.toSorted().join(",");
  return `${http.method} /${path}?${conditions} [${headers}]`;
};

const serviceProblems = (service: DescService): string[] => {
  const problems: string[] = [];
  const routes = new Map<string, DescMethod>();
  for (const method of service.methods) {
    try {
      problems.push(...methodProblems(service, method, routes));
    } catch (thrown) {
      problems.push(`${service.name}.${method.name}: ${(thrown as Error).message}`);
    }
  }
  return problems;
};

const methodProblems = (service: DescService, method: DescMethod, routes: Map<string, DescMethod>): string[] => {
  const contract = methodContract(method);
  const problems: string[] = [];
  const api = findServiceApi(service);
  const isNamed = api?.protocol === Protocol.QUERY || (api?.targetPrefix ?? "") !== "";
  if (contract.http === undefined && !isNamed) problems.push("has no route");
  if (contract.http !== undefined && !contract.http.isSuperseded) {
    const shape = routeShape(contract.http);
    const other = routes.get(shape);
    if (other !== undefined) problems.push(`has the route of ${other.name}: ${shape}`);
    routes.set(shape, method);
  }
  problems.push(...requestLocationProblems(contract), ...responseLocationProblems(contract));
  return problems.map((problem) => `${service.name}.${method.name} ${problem}`);
};

const duplicates = (names: readonly string[]): Set<string> =>
  new Set(names.filter((name, index) => names.indexOf(name) !== index));
