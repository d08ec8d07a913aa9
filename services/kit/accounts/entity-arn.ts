import { inPublicPartition, parseArn } from "../arn/arn.ts";

/** An entity of an account as its ARN has it. */
interface Named {
  readonly name: string;
  /** `/`, or `/team/`. Unset: `/`. */
  readonly path?: string;
}

/** The name with which entities are named in ARNs: `team/alice` of the path `/team/`. */
export const pathName = ({ name, path = "/" }: Named): string => `${path.slice(1)}${name}`;

/** The name and the path of what is named with its path: `team/alice`, or `alice`. */
export const namedWithPath = (named: string): Required<Named> => {
  const slash = named.lastIndexOf("/");
  const front = named.slice(0, slash + 1).replace(/^\/*/, "/");
  return { name: named.slice(slash + 1), path: front === "" ? "/" : front };
};

/** `arn:aws:iam::111122223333:user/team/alice`. */
export const entityArn = (accountId: string, kind: EntityKind, entity: Named): string =>
  `arn:aws:iam::${accountId}:${kind}/${pathName(entity)}`;

/** A kind of entity as ARNs write it. */
export type EntityKind = PrincipalKind | "policy" | "instance-profile";

/** A kind of entity that has policies. */
type PrincipalKind = "user" | "group" | "role";

/** The name with its path of an entity by its ARN: `team/reader` of `arn:aws:iam::111122223333:role/team/reader`. */
export const pathNameOfArn = (entity: string): string => {
  const { resource = "" } = parseArn(entity) ?? {};
  return resource.slice(resource.indexOf("/") + 1);
};

/** The kind of the user, group or role that an ARN ends with, and its name without its path. */
export const principalInArn = (arn: string): { readonly kind: PrincipalKind; readonly name: string } | undefined => {
  const [, kind, name] = /:(user|group|role)\/(?:.*\/)?([^/]+)$/.exec(arn) ?? [];
  return kind === undefined || name === undefined ? undefined : { kind: kind as PrincipalKind, name };
};

/** The role that an ARN of any partition names exactly, found by its name, which is unique in its account. */
export const roleOfArn = <Role extends { readonly arn: string }>(
  roleArn: string,
  findByName: (accountId: string, name: string) => Role | undefined,
): Role | undefined => {
  const { account = "", resource = "" } = parseArn(roleArn) ?? {};
  const role = findByName(account, namedWithPath(resource).name);
  return role?.arn === inPublicPartition(roleArn) ? role : undefined;
};
