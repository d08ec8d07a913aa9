import type { MethodContract } from "../../services/kit/contract/contract.ts";
import type { Dialect } from "../dialects/dialect.ts";
import type { QueryParameters } from "../http/query.ts";
import { ErrorReason, refusal } from "../refusal.ts";

/**
 * Refuses a query in which a parameter is given twice, unless the method reads it as a list. A signature covers the
 * sorted query, so it is also that of the request with the two values exchanged, which would mean something else. The
 * names of headers count without regard to case, as headers do. Throws REPEATED_PARAMETER.
 */
export const refuseRepeated = (method: MethodContract, query: QueryParameters, dialect: Dialect): void => {
  if (query.all.length < 2) return;
  const prefix = dialect.signature.headerPrefix;
  const seen = new Set<string>();
  for (const { name } of query.all) {
    const lower = name.toLowerCase();
    const counted = lower.startsWith(prefix) ? lower : name;
    if (seen.has(counted) && !isList(method, name)) throw refusal(ErrorReason.REPEATED_PARAMETER, { parameter: name });
    seen.add(counted);
  }
};

const isList = ({ input }: MethodContract, name: string): boolean =>
  input.fields.some(
    ({ location, desc }) => location.kind === "query" && location.name === name && desc.fieldKind === "list",
  );
