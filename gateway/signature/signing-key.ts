import { createECDH, createHmac, createPublicKey, createSecretKey, hash, timingSafeEqual, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";

import { LRUCache } from "lru-cache";

import type { AccessKey } from "../../services/kit/identity/access-keys.ts";
import { createKeyedDigest } from "../../services/kit/keyring/keyed-digest.ts";
import type { SignatureBrand } from "./brand.ts";
import { asymmetricAlgorithm } from "./brand.ts";
import type { SignatureClaim } from "./claim.ts";

/** Checks the signatures that one access key makes in one credential scope. */
export interface SigningKey {
  /** Whether the signature, in hexadecimal, is that of this text. Compares in constant time. */
  matches(stringToSign: string, signature: string): boolean;
}

/** Lower-case hexadecimal SHA-256. */
export const sha256 = (data: string | Uint8Array): string => hash("sha256", data, "hex");

const derivedKeysMax = 1_000;
const derived = new LRUCache<string, { secret: string; key: SigningKey }>({ max: derivedKeysMax });

/** What a key is derived from. */
type KeyOrigin = Pick<SignatureClaim, "algorithm" | "date" | "region" | "service"> &
  Pick<AccessKey, "accessKeyId" | "secretAccessKey">;

/** The one that was used last: mostly the next request needs the same, and to compare costs less than to find it. */
let last: { readonly origin: KeyOrigin; readonly key: SigningKey } | undefined;

const areSame = (one: KeyOrigin, other: KeyOrigin): boolean =>
  one.accessKeyId === other.accessKeyId &&
  one.secretAccessKey === other.secretAccessKey &&
  one.algorithm === other.algorithm &&
  one.date === other.date &&
  one.region === other.region &&
  one.service === other.service;

/** The key for a claim, derived once for each access key, day, region and service. */
export const signingKey = (
  { accessKeyId, secretAccessKey }: AccessKey,
  { algorithm, date, region, service }: Pick<SignatureClaim, "algorithm" | "date" | "region" | "service">,
  brand: SignatureBrand,
): SigningKey => {
  const origin = { accessKeyId, secretAccessKey, algorithm, date, region, service };
  if (last !== undefined && areSame(last.origin, origin)) return last.key;
  const key = findKey(origin, brand);
  last = { origin, key };
  return key;
};

const findKey = (origin: KeyOrigin, brand: SignatureBrand): SigningKey => {
  const { accessKeyId, secretAccessKey: secret, algorithm, date, region, service } = origin;
  // None of the parts can contain a slash.
  const name = `${algorithm}/${accessKeyId}/${date}/${region}/${service}`;
  const known = derived.get(name);
  if (known?.secret === secret) return known.key;
  const key =
    region === undefined
      ? asymmetricKey(deriveAsymmetric(accessKeyId, secret, brand))
      : symmetricKey(deriveSymmetric(secret, [date, region, service, brand.terminator], brand));
  derived.set(name, { secret, key });
  return key;
};

/** The chain of HMACs from the secret over the parts of the scope. 32 bytes. */
const deriveSymmetric = (secret: string, scope: readonly string[], brand: SignatureBrand): Buffer => {
  let key = Buffer.from(brand.keySeed + secret);
  for (const part of scope) key = createHmac("sha256", key).update(part).digest();
  return key;
};

const symmetricKey = (key: Buffer): SigningKey => {
  const digest = createKeyedDigest(createSecretKey(key));
  return {
    matches: (stringToSign, signature) => {
      const given = Buffer.from(signature, "latin1");
      const computed = Buffer.from(digest(stringToSign).toString("hex"), "latin1");
      return given.length === computed.length && timingSafeEqual(given, computed);
    },
  };
};

/** The order of the curve P-256, less two. */
const orderLessTwo = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc63254fn;

/**
 * The private number on P-256 that belongs to an access key: key derivation in counter mode (NIST SP 800-108) with
 * HMAC-SHA-256, repeated with the next counter until the number is in range. 32 bytes.
 */
export const deriveAsymmetric = (accessKeyId: string, secret: string, brand: SignatureBrand): Buffer => {
  const label = Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from(asymmetricAlgorithm(brand)), Buffer.from([0])]);
  const length = Buffer.from([0, 0, 1, 0]);
  for (let counter = 1; counter < 255; counter += 1) {
    const candidate = createHmac("sha256", `${brand.keySeed}A${secret}`)
      .update(Buffer.concat([label, Buffer.from(accessKeyId), Buffer.from([counter]), length]))
      .digest("hex");
    const number = BigInt(`0x${candidate}`);
    if (number <= orderLessTwo) return Buffer.from((number + 1n).toString(16).padStart(64, "0"), "hex");
  }
  throw new Error("no signing key can be derived from this access key");
};

const asymmetricKey = (privateNumber: Buffer): SigningKey => {
  const key = publicKeyOf(privateNumber);
  return {
    matches: (stringToSign, signature) =>
      /^(?:[0-9a-f]{2})+$/.test(signature) &&
      verify("sha256", Buffer.from(stringToSign), { key, dsaEncoding: "der" }, Buffer.from(signature, "hex")),
  };
};

const publicKeyOf = (privateNumber: Buffer): KeyObject => {
  const curve = createECDH("prime256v1");
  curve.setPrivateKey(privateNumber);
  const point = curve.getPublicKey();
  const coordinate = (from: number): string => point.subarray(from, from + 32).toString("base64url");
  return createPublicKey({ format: "jwk", key: { kty: "EC", crv: "P-256", x: coordinate(1), y: coordinate(33) } });
};
