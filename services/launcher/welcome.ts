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
  const secret = told.secretAccessKey ?? `see ${told.credentialsFile}`;
  output.write(
    [
      "",
      `  Quartet answers at ${told.gatewayUrl}`,
      "",
      `  access key id      ${told.accessKeyId}`,
      `  secret access key  ${secret}`,
      `  region             ${told.region}`,
      "",
      "  Try, with the key in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY:",
      `    aws --endpoint-url ${told.gatewayUrl} --region ${told.region} s3 mb s3://my-first-bucket`,
      "",
      "  Ctrl-C drains and stops everything.",
      "",
      "",
    ].join("\n"),
  );
};
