import { callerOf } from "../../services/kit/identity/access-keys.ts";
import type { Caller } from "../../services/kit/identity/caller.ts";
import { anonymousCaller } from "../../services/kit/identity/caller.ts";
import type { ServiceError } from "../../services/kit/faults/service-error.ts";
import type { SignatureClaim } from "./claim.ts";
import { checkScope, isOffered, readCredential, unsupportedAlgorithm } from "./claim.ts";
import { checkFormPolicy, parseFormPolicy } from "./form-policy.ts";
import { ErrorReason, refusal } from "../refusal.ts";
import { signingKey } from "./signing-key.ts";
import type { RequestSignature, SignatureRules } from "./verify.ts";
import { keyOf } from "./request-key.ts";
import { parseBasicInstant } from "./request-time.ts";
import { signatureVersionOf } from "./verify.ts";
import { checkVersionTwoForm, checkVersionTwoRule, readVersionTwoForm, versionTwoFields } from "./version-two.ts";

/** A form that uploads a file, and the parts that its signature is verified with. */
export interface SignedForm extends SignatureRules {
  /**
   * The fields before the file by lower-case name, with `bucket` also if it is in the URL, and with the file's name
   * filled into `key`.
   */
  readonly fields: ReadonlyMap<string, string>;
}

/** A form whose signed policy allows its fields, or one without a policy. */
export interface VerifiedForm {
  /** `anonymousCaller` if the form has no policy. */
  readonly caller: Caller;
  /** Undefined if the form is not signed. */
  readonly signature: RequestSignature | undefined;
  /** The sizes, in bytes, that the policy allows the file. */
  readonly bytesMin: number;
  readonly bytesMax: number;
}

/** Verifies the signature of a form's policy, then that the policy allows the form. Throws the gateway's refusals. */
export const verifyForm = (form: SignedForm): VerifiedForm => {
  const { fields, brand } = form;
  const policyText = fields.get("policy");
  const signatureField = `${brand.headerPrefix}signature`;
  if (policyText === undefined) {
    if ([signatureField, ...versionTwoFields(brand)].some((name) => fields.has(name))) throw missing("policy");
    return { caller: anonymousCaller, signature: undefined, bytesMin: 0, bytesMax: Number.MAX_SAFE_INTEGER };
  }
  const token = fields.get(`${brand.headerPrefix}security-token`);
  const checkPolicy = (signatureFields: readonly string[]) =>
    checkFormPolicy(parseFormPolicy(policyText), fields, signatureFields, form.clock.now());
  const ofVersionTwo = fields.has(`${brand.headerPrefix}algorithm`) ? undefined : readVersionTwoForm(fields, brand);
  if (ofVersionTwo !== undefined) {
    checkVersionTwoRule(form.versionTwo);
    const accessKey = keyOf(form.accessKeys, ofVersionTwo.accessKeyId, token);
    checkVersionTwoForm(ofVersionTwo, accessKey.secretAccessKey, policyText);
    const sizes = checkPolicy(versionTwoFields(brand));
    return { caller: callerOf(accessKey), signature: { signatureVersion: "AWS", authType: "POST" }, ...sizes };
  }
  const claim = readFormClaim(form);
  checkScope(
    claim,
    { services: form.signingNames, served: form.servedNames, region: form.region, terminator: brand.terminator },
    fields.get(`${brand.headerPrefix}region-set`),
  );
  const accessKey = keyOf(form.accessKeys, claim.accessKeyId, token);
  if (!signingKey(accessKey, claim, brand).matches(policyText, claim.signature))
    throw refusal(ErrorReason.SIGNATURE_MISMATCH, {
      access_key_id: claim.accessKeyId,
      signature_provided: claim.signature,
      string_to_sign: policyText,
    });
  const sizes = checkPolicy([signatureField]);
  const signature = {
    signatureVersion: signatureVersionOf(claim),
    authType: "POST",
    ...ageOf(fields.get(`${brand.headerPrefix}date`) ?? "", form.clock.now()),
  } as const;
  return { caller: callerOf(accessKey), signature, ...sizes };
};

/** How long ago the form was signed; nothing if its date is not an instant. */
const ageOf = (date: string, nowMs: number): Pick<RequestSignature, "signatureAgeMs"> => {
  const ms = parseBasicInstant(date);
  return Number.isNaN(ms) ? {} : { signatureAgeMs: Math.max(0, nowMs - ms) };
};

const readFormClaim = ({ fields, brand }: SignedForm): SignatureClaim => {
  const field = (name: string): string => {
    const value = fields.get(brand.headerPrefix + name);
    if (value === undefined || value === "") throw missing(brand.headerPrefix + name);
    return value;
  };
  const algorithm = field("algorithm");
  if (!isOffered(algorithm, brand)) throw unsupportedAlgorithm(`${brand.headerPrefix}algorithm`, algorithm);
  const credential = readCredential(field("credential"), algorithm, brand, (problem) => {
    throw refusal(ErrorReason.MALFORMED_FORM_SIGNATURE, {
      problem,
      argument_name: `${brand.headerPrefix}credential`,
      argument_value: field("credential"),
    });
  });
  if (!field("date").startsWith(credential.date))
    throw refusal(ErrorReason.WRONG_SCOPE, {
      part: "date",
      given: credential.date,
      expected: field("date").slice(0, 8),
    });
  return {
    form: "header",
    algorithm,
    ...credential,
    signedHeaders: [],
    signature: field("signature"),
    expiresSeconds: undefined,
  };
};

const missing = (field: string): ServiceError =>
  refusal(ErrorReason.MALFORMED_FORM_SIGNATURE, {
    problem: `It must contain a field named '${field}' before the file.`,
    argument_name: field,
    argument_value: "",
  });
