/** The path of a request without the secret of a URL by which a function reads an object while it is called. */
export const withoutInputSecret = (path: string): string =>
  path.startsWith("/input-") ? path.replace(/^\/input-[0-9a-f]{48}--ol-s3/, "/input-hidden--ol-s3") : path;

/** A target or URL without what would let a reader of it repeat the request. */
export const withoutSignatures = (target: string): string =>
  target.replaceAll(/([?&][A-Za-z-]*(?:Signature|Security-?Token)=)[^&]*/gi, "$1hidden");

/**
 * A canonical request without the encryption keys and tokens in its headers and query: clients write refusals to their
 * logs. Each letter is looked at a few times at most, so long names are quick.
 */
export const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/^([a-z-]*(?:customer-key|security-token)):.*$/gm, "$1:[hidden]")
    .replaceAll(/(Security-Token=)[^&\n]*/g, "$1[hidden]");
