/** The owner of the deliveries to one target of an account's rules. They share a circuit, a rate limit and turns. */
export const deliveryOwner = (account: string, targetArn: string): string => `delivery/${account}/${targetArn}`;

const ownerShape = /^delivery\/[0-9]{12}\/(?<arn>.*)$/s;

/** The target of a delivery's owner; undefined: the owner is not that of deliveries. */
export const targetOfOwner = (owner: string): string | undefined =>
  // Deliveries of earlier versions are owned by the ARN itself.
  owner.startsWith("arn:") ? owner : ownerShape.exec(owner)?.groups?.["arn"];

/** The owner of the steps of a redrive of dead letters. */
export const redriveOwner = (account: string, name: string): string => `redrive/${account}/${name}`;

/** The redrive of an owner; undefined: the owner is not a redrive. */
export const redriveOfOwner = (owner: string): { readonly account: string; readonly name: string } | undefined => {
  const [, account, name] = /^redrive\/([0-9]{12})\/(.*)$/.exec(owner) ?? [];
  return account === undefined || name === undefined ? undefined : { account, name };
};

/** The account in the name of an owner of any job. */
export const accountOfOwner = (owner: string): string => /[0-9]{12}/.exec(owner)?.[0] ?? "";
