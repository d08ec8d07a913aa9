import type { AccessKey, AccessKeys } from "../../services/kit/identity/access-keys.ts";
import { temporaryKeyPrefix } from "../../services/kit/identity/access-keys.ts";
import type { QueryParameter } from "../http/query.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import type { SignatureBrand } from "./brand.ts";
import type { HeaderIndex } from "./canonical.ts";
import { brandHeader, brandParameter } from "./claim.ts";

/** How the key of a request is found. */
interface KeyRules {
  readonly accessKeys: AccessKeys;
  readonly brand: SignatureBrand;
}

/**
 * The key of a claim. A lasting key has no security token, and a temporary one has its own, in a header or in the
 * query. Throws as `keyOf` does.
 */
export const findAccessKey = (
  request: KeyRules,
  claim: { readonly accessKeyId: string },
  headers: HeaderIndex,
  query: readonly QueryParameter[],
): AccessKey => {
  const { accessKeyId } = claim;
  const token =
    brandHeader(headers, request.brand, "security-token") ??
    (query.length === 0 ? undefined : tokenParameter(query, request.brand));
  return keyOf(request.accessKeys, accessKeyId, token);
};

const tokenParameter = (query: readonly QueryParameter[], brand: SignatureBrand): string | undefined =>
  brandParameter(query, brand, "Security-Token") ??
  query.find(({ name }) => name === `${brand.headerPrefix}security-token`)?.value;

/**
 * The key that a request names, with its security token if it has one. Throws UNKNOWN_ACCESS_KEY,
 * INVALID_SECURITY_TOKEN, EXPIRED_SECURITY_TOKEN.
 */
export const keyOf = (accessKeys: AccessKeys, accessKeyId: string, token: string | undefined): AccessKey => {
  const found = accessKeys.find(accessKeyId);
  if (token === undefined || token === "") {
    if (found === undefined) throw refusal(ErrorReason.UNKNOWN_ACCESS_KEY, { access_key_id: accessKeyId });
    return found;
  }
  const temporary = found === undefined ? accessKeys.findTemporary?.(accessKeyId, token) : undefined;
  if (temporary === "expired") throw refusal(ErrorReason.EXPIRED_SECURITY_TOKEN, { access_key_id: accessKeyId });
  if (temporary !== undefined) return temporary;
  const isKnown = found !== undefined || accessKeyId.startsWith(temporaryKeyPrefix);
  const reason = isKnown ? ErrorReason.INVALID_SECURITY_TOKEN : ErrorReason.UNKNOWN_ACCESS_KEY;
  throw refusal(reason, { access_key_id: accessKeyId });
};
