import { ObjectStorageService } from "../../gen/quartet/objectstorage/v1/object_storage_service_pb.ts";
import type { Clock } from "../../services/kit/clock/clock.ts";
import { serviceApi } from "../../services/kit/contract/contract.ts";
import type { Minter } from "../../services/kit/identity/tokens.ts";
import type { ServiceConnection } from "../api-binding.ts";
import { bucketOrigins } from "./bucket-origins.ts";
import type { OriginSource } from "./origin-source.ts";
import { fixedOrigins } from "./origin-source.ts";

/** The parts and settings of the rules of an installation. */
export interface OriginSourcesOptions {
  readonly minter: Minter;
  readonly clock: Clock;
  /** Origins whose scripts may call the JSON APIs; a `*` matches any text. */
  readonly allowedOrigins: readonly string[];
}

/** The source of the rules of each API: those of the bucket for object storage, those of the installation otherwise. */
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
