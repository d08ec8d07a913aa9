import type { Writable } from "node:stream";

/** Everything that a person needs for the first call. */
export interface Welcome {
  readonly gatewayUrl: string;
  readonly accessKeyId: string;
  /** The secret is shown only by `npm run env`, to whoever may read this file. */
  readonly credentialsFile: string;
  /** The arguments of this start, with which other commands find the same installation. */
  readonly sharedArguments: readonly string[];
}

/** Writes the endpoint, the key and commands to try, which work at every start. */
export const welcome = (
  output: Writable,
  { gatewayUrl, accessKeyId, credentialsFile, sharedArguments }: Welcome,
): void => {
  const further = sharedArguments.length === 0 ? "" : ` -- ${sharedArguments.join(" ")}`;
  output.write(
    [
      "",
      `  Quartet answers at ${gatewayUrl}; access key id ${accessKeyId}, its secret is in ${credentialsFile}.`,
      "  Try in another terminal, in this directory:",
      "",
      `    eval "$(npm run --silent env${further})"`,
      `    aws --endpoint-url ${gatewayUrl} s3 mb s3://my-first-bucket`,
      "",
      "  Ctrl-C drains and stops everything.",
      "",
      "",
    ].join("\n"),
  );
};
