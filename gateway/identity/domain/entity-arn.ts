/** The name with which entities are named in ARNs: `team/alice` of the path `/team/`. */
export const pathName = ({ path, name }: { readonly path: string; readonly name: string }): string =>
  `${path.slice(1)}${name}`;

/** `arn:aws:iam::111122223333:user/team/alice`. */
export const entityArn = (
  accountId: string,
  kind: "user" | "group" | "role" | "policy",
  record: { readonly name: string; readonly path?: string },
): string => `arn:aws:iam::${accountId}:${kind}/${pathName({ path: record.path ?? "/", name: record.name })}`;
