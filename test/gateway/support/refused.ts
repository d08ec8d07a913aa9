import { expect } from "vitest";

import { ServiceError } from "../../../services/kit/faults/service-error.ts";

/** Matches the refusal with this reason of the gateway, and with at least this metadata. */
export const refused = (reason: string, metadata: object = {}): unknown =>
  expect.objectContaining({
    name: "ServiceError",
    facts: expect.objectContaining({ domain: "gateway.quartet", reason }),
    metadata: expect.objectContaining(metadata),
  });

/** The reason of a refusal; for any other error, its text. */
export const reasonOf = (error: unknown): string =>
  error instanceof ServiceError ? error.facts.reason : String(error);
