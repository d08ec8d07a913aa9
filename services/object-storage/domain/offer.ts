import { memberNotOffered } from "../faults.ts";

/** Members of requests that ask for something that is not offered. Undefined ones were not given. */
export interface UnofferedMembers {
  readonly bucketNamespace?: string;
  readonly annotationDirective?: string;
}

/** The conditions of a write. Undefined ones were not given. */
interface WriteConditions {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: string;
}

type Member = keyof UnofferedMembers;

/** The header of each member, and the values with which it asks only for what is offered. */
const unoffered: Readonly<Record<Member, readonly [header: string, harmless?: readonly unknown[]]>> = {
  bucketNamespace: ["x-svc-bucket-namespace", ["global"]],
  annotationDirective: ["x-svc-object-annotation-directive"],
};

const members = Object.keys(unoffered) as Member[];

/** Throws MEMBER_NOT_IMPLEMENTED for the first member that asks for something not offered, so none is ignored. */
export const checkOffered = (request: UnofferedMembers): void => {
  for (const member of members) {
    const value = request[member];
    const [header, harmless = []] = unoffered[member];
    if (value !== undefined && !harmless.includes(value)) throw memberNotOffered(header);
  }
};

/** Throws MEMBER_NOT_IMPLEMENTED for a write under both conditions, of which each excludes what the other asks for. */
export const checkOneCondition = ({ ifMatch, ifNoneMatch }: WriteConditions): void => {
  if (ifMatch !== undefined && ifNoneMatch !== undefined) throw memberNotOffered("If-Match,If-None-Match");
};
