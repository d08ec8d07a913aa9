import { CustomerProfilesClient } from "@aws-sdk/client-customer-profiles";
import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { MigrationHubRefactorSpacesClient } from "@aws-sdk/client-migration-hub-refactor-spaces";
import type { S3ClientConfig } from "@aws-sdk/client-s3";
import { S3Client } from "@aws-sdk/client-s3";

/** The official clients of the four services. */
export interface SdkClients {
  readonly objectStorage: S3Client;
  readonly eventBus: EventBridgeClient;
  readonly customerProfile: CustomerProfilesClient;
  readonly workspace: MigrationHubRefactorSpacesClient;
}

/** Clients of one gateway that sign with one key, and ask once unless told otherwise; `destroyClients` closes them. */
export const sdkClients = ({
  endpoint,
  ...others
}: Pick<S3ClientConfig, "credentials" | "requestHandler" | "maxAttempts"> & {
  readonly endpoint: string;
}): SdkClients => {
  const config = { endpoint, region: "us-east-1", maxAttempts: 1, ...others };
  return {
    objectStorage: new S3Client({ ...config, forcePathStyle: true }),
    eventBus: new EventBridgeClient(config),
    customerProfile: new CustomerProfilesClient(config),
    workspace: new MigrationHubRefactorSpacesClient(config),
  };
};

export const destroyClients = (clients: SdkClients): void => {
  for (const client of Object.values(clients)) client.destroy();
};
