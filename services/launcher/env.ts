import { ConfigError } from "../kit/config/config.ts";
import { readNamedFile } from "../kit/config/text-file.ts";
import { parseAccessKeys } from "../kit/identity/access-keys.ts";
import { readEndpoint } from "./endpoint.ts";
import { credentialsFile } from "./settings.ts";
import { rootKeyVariables } from "./shared-settings.ts";
import { runTool } from "./tool.ts";

/** A text as one word of a POSIX shell. */
const quoted = (text: string): string => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const rootKey = (config: {
  readonly dataDir: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}): { readonly accessKeyId: string; readonly secretAccessKey: string } => {
  const { QUARTET_ACCESS_KEY_ID: accessKeyId, QUARTET_SECRET_ACCESS_KEY: secretAccessKey } = rootKeyVariables(config);
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return { accessKeyId, secretAccessKey };
  const path = credentialsFile(config.dataDir);
  const [first] = parseAccessKeys(readNamedFile(path));
  if (first === undefined) throw new ConfigError(`${path} has no access key`);
  return first;
};

/** Prints the variables by which `aws` and the SDKs find this installation. */
await runTool({
  name: "env",
  about: [
    "Prints the variables by which aws and the SDKs find this installation, with the secret of its first key:",
    'eval "$(npm run --silent env)"',
  ],
  run: (config) => {
    const endpoint = readEndpoint(config.dataDir);
    if (endpoint === undefined)
      throw new ConfigError(`nothing runs in ${config.dataDir}; run npm start, or name another --data-dir`);
    const { accessKeyId, secretAccessKey } = rootKey(config);
    return Object.entries({
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: config.region,
      AWS_DEFAULT_REGION: config.region,
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
    })
      .map(([name, value]) => `export ${name}=${quoted(value)}`)
      .join("\n");
  },
});
