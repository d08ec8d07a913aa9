import { UnauthenticatedError } from "./unauthenticated-error.ts";

/** A service that calls in its own name, and for what. */
export interface CallingService {
  /** As policies name it, for example `appflow.amazonaws.com`. */
  readonly name: string;
  /** The account and the ARN of the resource for which it calls: `aws:SourceAccount` and `aws:SourceArn`. */
  readonly sourceAccount: string;
  readonly sourceArn: string;
}

/** The service of a token's claim. Throws UnauthenticatedError for a claim of another shape. */
export const readCallingService = (claim: unknown): CallingService | undefined => {
  if (claim === undefined) return undefined;
  const { name, sourceAccount, sourceArn } = (claim ?? {}) as Partial<Record<keyof CallingService, unknown>>;
  const isWellFormed = typeof name === "string" && name !== "" && typeof sourceAccount === "string";
  if (!isWellFormed || typeof sourceArn !== "string") throw new UnauthenticatedError("malformed");
  return { name, sourceAccount, sourceArn };
};

/** The condition keys of a service that calls, in lower case and less their prefix. */
export const serviceConditions: ReadonlyMap<string, (service: CallingService) => string> = new Map([
  ["sourceaccount", ({ sourceAccount }: CallingService) => sourceAccount],
  ["sourcearn", ({ sourceArn }: CallingService) => sourceArn],
  ["principalservicename", ({ name }: CallingService) => name],
]);
