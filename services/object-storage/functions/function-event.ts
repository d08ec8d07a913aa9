import type { Caller } from "../../kit/identity/caller.ts";

/** The request of the reader as it came to the gateway. */
export interface UserRequest {
  /** The address of the gateway, without a slash at its end. */
  readonly base: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the event for a function is made of. */
export interface FunctionEventParts {
  readonly requestId: string;
  readonly inputUrl: string;
  readonly route: string;
  readonly token: string;
  /** The ARNs of the access point with the function, and of what it reads from. */
  readonly accessPointArn: string;
  readonly supportingArn: string;
  /** Text that the access point is configured with. */
  readonly payload: string;
  readonly userRequest: UserRequest;
  readonly caller: Caller;
}

/** The documented event by which a function is asked to transform an object, as JSON. */
export const functionEvent = (parts: FunctionEventParts): string =>
  JSON.stringify({
    xAmzRequestId: parts.requestId,
    getObjectContext: { inputS3Url: parts.inputUrl, outputRoute: parts.route, outputToken: parts.token },
    configuration: {
      accessPointArn: parts.accessPointArn,
      supportingAccessPointArn: parts.supportingArn,
      payload: parts.payload,
    },
    userRequest: { url: parts.userRequest.url, headers: parts.userRequest.headers },
    userIdentity: identityOf(parts.caller),
    protocolVersion: "1.00",
  });

const identityOf = (caller: Caller): object => {
  const { isAnonymous, isRoot, principalArn, accountId, accessKeyId } = caller;
  if (isAnonymous) return { type: "AWSAccount", principalId: "ANONYMOUS_PRINCIPAL", accountId: "ANONYMOUS_PRINCIPAL" };
  const type = isRoot ? "Root" : typeOf(caller);
  const name = principalArn.split("/").at(-1) ?? "";
  return {
    type,
    principalId: isRoot ? accountId : name,
    arn: principalArn,
    accountId,
    ...(accessKeyId !== undefined && { accessKeyId }),
    ...(type === "IAMUser" && { userName: name }),
  };
};

const typeOf = ({ federatedBy, principalArn }: Caller): string => {
  if (federatedBy !== undefined) return "FederatedUser";
  return principalArn.includes(":assumed-role/") ? "AssumedRole" : "IAMUser";
};
