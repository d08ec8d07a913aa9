import type { Writable } from "node:stream";

/** Everything that a person needs for the first call. */
export interface Welcome {
  readonly gatewayUrl: string;
  readonly accessKeyId: string;
  /** Undefined unless this start created the key: a secret is shown once, and on a terminal only. */
  readonly secretAccessKey: string | undefined;
  /** The file that holds the key. */
  readonly credentialsFile: string;
  readonly region: string;
}

/** Writes the endpoint, the key and one command to try. */
export const welcome = (output: Writable, facts: Welcome): void => {
  const secret = facts.secretAccessKey ?? `"the secret in ${facts.credentialsFile}"`;
  output.write(
    [
      "",
      `  Quartet answers at ${facts.gatewayUrl}; access key id ${facts.accessKeyId}.`,
      facts.secretAccessKey === undefined
        ? "  Try:"
        : "  Try (the secret is shown this once and kept in the credentials file):",
      "",
      `    export AWS_ACCESS_KEY_ID=${facts.accessKeyId} AWS_SECRET_ACCESS_KEY=${secret}`,
      `    aws --endpoint-url ${facts.gatewayUrl} --region ${facts.region} s3 mb s3://my-first-bucket`,
      "",
      "  Ctrl-C drains and stops everything.",
      "",
      "",
    ].join("\n"),
  );
};
