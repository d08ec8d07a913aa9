import { CreateRoleCommand, IAMClient, PutRolePolicyCommand } from "@aws-sdk/client-iam";

export interface DeliveryRoleOptions {
  /** The gateway. */
  readonly endpoint: string;
  /** The key of the account's root. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** Creates a role in whose name the event bus may deliver to every API destination of the account. Returns its ARN. */
export const createDeliveryRole = async ({ endpoint, credentials }: DeliveryRoleOptions): Promise<string> => {
  const iam = new IAMClient({ endpoint, credentials, region: "us-east-1", maxAttempts: 1 });
  try {
    const trust = { Effect: "Allow", Principal: { Service: "events.amazonaws.com" }, Action: "sts:AssumeRole" };
    const created = await iam.send(
      new CreateRoleCommand({ RoleName: "invoke", AssumeRolePolicyDocument: documentOf(trust) }),
    );
    const allowed = { Effect: "Allow", Action: "events:InvokeApiDestination", Resource: "*" };
    await iam.send(
      new PutRolePolicyCommand({ RoleName: "invoke", PolicyName: "invoke", PolicyDocument: documentOf(allowed) }),
    );
    return created.Role?.Arn ?? "";
  } finally {
    iam.destroy();
  }
};

const documentOf = (statement: object): string => JSON.stringify({ Version: "2012-10-17", Statement: [statement] });
