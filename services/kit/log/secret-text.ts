/**
 * Texts that carry a secret: a bearer token, the signature of a header, and the parameters of a signed URL. The name
 * stays, the value is replaced.
 */
const secrets: readonly (readonly [RegExp, string])[] = [
  [/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}/gi, "$1 [hidden]"],
  [/\b(Signature|Security-Token)(=|%3D)[^&\s"\\,]+/gi, "$1$2[hidden]"],
];

const sign = /bearer|basic|signature|token/i;

/** The line without secrets in its texts. The last defence: what is logged should have none. */
export const hideSecrets = (line: string): string => {
  if (!sign.test(line)) return line;
  return secrets.reduce((text, [pattern, hidden]) => text.replace(pattern, hidden), line);
};
