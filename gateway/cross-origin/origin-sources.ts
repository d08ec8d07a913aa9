import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { serviceApi } from "../../services/kit/contract/contract.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import type { ServiceConnection } from "../api-binding.ts";
import { bucketOrigins } from "./bucket-origins.ts";
import type { OriginSource } from "./origin-source.ts";
import { fixedOrigins } from "./origin-source.ts";

/** What the rules of an installation are made from. */
export interface OriginSourcesOptions {
  readonly minter: Minter;
  readonly clock: Clock;
  /** Origins whose scripts may call the JSON APIs; a `*` stands for any text. */
  readonly allowedOrigins: readonly string[];
}

/** The sources of the rules for each API: buckets have their own, all else has those of the installation. */
export const originSources = (
  connections: readonly ServiceConnection[],
  { minter, clock, allowedOrigins }: OriginSourcesOptions,
): ReadonlyMap<string, OriginSource> => {
  const fixed = fixedOrigins(allowedOrigins);
  return new Map(
    connections.map(({ service, transport }) => {
      const source = service === ObjectStorageService ? bucketOrigins({ transport, minter, clock }) : fixed;
      return [serviceApi(service).name, source];
    }),
  );
};
