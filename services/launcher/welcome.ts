import type { Writable } from "node:stream";

/** What a person needs for the first call. */
export interface Welcome {
  readonly gatewayUrl: string;
  readonly accessKeyId: string;
  /** Undefined unless the key was made by this start: a secret is shown once, and on a terminal only. */
  readonly secretAccessKey: string | undefined;
  /** Where the key stands. */
  readonly credentialsFile: string;
  readonly region: string;
}

/** Writes the endpoint, the key and one command to try. */
export const welcome = (output: Writable, told: Welcome): void => {
  const secret = told.secretAccessKey ?? `"the secret in ${told.credentialsFile}"`;
  output.write(
    [
      "",
      `  Quartet answers at ${told.gatewayUrl}; access key id ${told.accessKeyId}.`,
      told.secretAccessKey === undefined
        ? "  Try:"
        : "  Try (the secret is shown this once and kept in the credentials file):",
      "",
      `    export AWS_ACCESS_KEY_ID=${told.accessKeyId} AWS_SECRET_ACCESS_KEY=${secret}`,
      `    aws --endpoint-url ${told.gatewayUrl} --region ${told.region} s3 mb s3://my-first-bucket`,
      "",
      "  Ctrl-C drains and stops everything.",
      "",
      "",
    ].join("\n"),
  );
};
