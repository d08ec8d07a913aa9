import { createHmac } from "node:crypto";

import type { Dialect } from "../../../gateway/dialects/dialect.ts";
import { testKey } from "./signing-client.ts";

export const boundary = "----a-boundary";

/** The headers of a form. */
export const formHeaders = { "content-type": `multipart/form-data; boundary=${boundary}` };

/** One part of a form, with a file name if it is the file. */
export const formPart = (name: string, value: string, fileName?: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? "" : `; filename="${fileName}"\r\nContent-Type: text/x-ignored`}\r\n\r\n${value}\r\n`;

/** The body of a form: its fields, its file, and a field after the file, which is never read. */
export const formBody = (fields: Readonly<Record<string, string>>, file: string, fileName = "emma.txt"): string =>
  Object.entries(fields)
    .map(([name, value]) => formPart(name, value))
    .join("") + `${formPart("file", file, fileName)}${formPart("x-amz-meta-late", "never read")}--${boundary}--\r\n`;

/** The fields of a form whose policy, signed by the test key, allows a key below `drafts/` of 2 to 8 bytes. */
export const signedFields = (
  dialect: Dialect,
  fields: Readonly<Record<string, string>> = {},
  conditions: readonly unknown[] = [],
  expiration = "2026-01-02T04:00:00.000Z",
): Record<string, string> => {
  const { headerPrefix } = dialect.signature;
  const document = {
    expiration,
    conditions: [
      { bucket: "novels" },
      ["starts-with", "$key", "drafts/"],
      ["content-length-range", 2, 8],
      ...["algorithm", "credential", "date"].map((name) => ["starts-with", `$${headerPrefix}${name}`, ""]),
      ...conditions,
    ],
  };
  return signPolicy(dialect, Buffer.from(JSON.stringify(document)).toString("base64"), fields);
};

/** The fields of a form with any text as its policy, signed by the test key. */
export const signPolicy = (
  dialect: Dialect,
  policy: string,
  fields: Readonly<Record<string, string>> = {},
): Record<string, string> => {
  const { algorithm, terminator, keySeed, headerPrefix } = dialect.signature;
  const service = dialect.signingNames["object-storage"]?.[0] ?? "";
  const scope = ["20260102", "us-east-1", service, terminator];
  let key = Buffer.from(keySeed + testKey.secretAccessKey);
  for (const each of scope) key = createHmac("sha256", key).update(each).digest();
  return {
    key: "drafts/${filename}",
    ...fields,
    policy,
    [`${headerPrefix}algorithm`]: algorithm,
    [`${headerPrefix}credential`]: `${testKey.accessKeyId}/${scope.join("/")}`,
    [`${headerPrefix}date`]: "20260102T030405Z",
    [`${headerPrefix}signature`]: createHmac("sha256", key).update(policy).digest("hex"),
  };
};
