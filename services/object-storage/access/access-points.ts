import type { Arn } from "../../kit/arn/arn.ts";
import { arn, parseArn } from "../../kit/arn/arn.ts";
import type { Policy } from "../../kit/policy/document.ts";
import { PolicyError } from "../../kit/policy/document.ts";
import { parseBucketPolicy } from "./bucket-policy.ts";
import { hasKnownKeys } from "./condition-keys.ts";

/** Another name of a bucket, with a policy of its own. */
export interface AccessPoint {
  readonly name: string;
  readonly accountId: string;
  /** The name of the bucket. */
  readonly bucket: string;
  /** The deployment on premises that it belongs to. Undefined: it is an ordinary one. */
  readonly outpostId: string | undefined;
  /** The function that transforms objects which are read by it. Undefined: they are read as they are. */
  readonly function: { readonly arn: string; readonly payload: string } | undefined;
  /** A further name, which is like that of a bucket. Undefined: none. */
  readonly alias: string | undefined;
  /** Undefined: it limits callers of its own account to nothing, and allows others nothing. */
  readonly policy: Policy | undefined;
}

/** The declared access points. */
export interface AccessPoints {
  /** The one that an ARN, an alias or the first labels of a host name mean; undefined: it is no name of one. */
  find(text: string): AccessPoint | undefined;
}

/** Where the access points are: an ARN names the region. */
interface Place {
  readonly region: string;
}

/** The services of ARNs of access points, of those with functions, and of those on premises. */
const services = /^(?:s3|object-storage)$/;
const withFunctions = /^(?:s3-object-lambda|object-storage-object-lambda)$/;
const onPremises = /^(?:s3-outposts|object-storage-outposts)$/;

/** The names of hosts of access points, less the region that some clients add. */
const hostSuffix = /\.(?:s3|object-storage)-(?:accesspoint|object-lambda|outposts)(?:\.[a-z0-9-]+)?$/;

/** Access points by each of their names. */
const accessPointsOf = (declared: readonly AccessPoint[], { region }: Place): AccessPoints => {
  const byName = new Map<string, AccessPoint>();
  const outposts = new Map<string, AccessPoint[]>();
  for (const point of declared) {
    const { name, accountId, outpostId, alias, bucket } = point;
    const host = `${name}-${accountId}`;
    byName.set(outpostId === undefined ? host : `${host}.${outpostId}`, point);
    if (alias !== undefined) byName.set(alias, point);
    if (outpostId === undefined) byName.set(`${accountId}:accesspoint/${name}`, point);
    else {
      const outpost = `${accountId}:outpost/${outpostId}`;
      byName.set(`${outpost}/accesspoint/${name}`, point);
      byName.set(`${outpost}/bucket/${bucket}`, point);
      outposts.set(outpost, [...(outposts.get(outpost) ?? []), point]);
    }
  }
  // An ARN of a deployment alone means its only access point.
  for (const [outpost, [point, ...others]] of outposts)
    if (point !== undefined && others.length === 0) byName.set(outpost, point);
  return {
    find(text) {
      if (byName.size === 0) return undefined;
      const named = parseArn(text);
      if (named === undefined) return byName.get(text.toLowerCase().replace(hostSuffix, ""));
      const point = byName.get(`${named.account}:${named.resource.replaceAll(":", "/")}`);
      if (point === undefined || named.region !== region) return undefined;
      return servicesOf(point).test(named.service) ? point : undefined;
    },
  };
};

const servicesOf = ({ outpostId, function: transforming }: AccessPoint): RegExp => {
  if (outpostId !== undefined) return onPremises;
  return transforming === undefined ? services : withFunctions;
};

/**
 * The access points of the setting, by the first label of their hosts. Throws PolicyError for a policy that is not one.
 */
export const declaredAccessPoints = (setting: AccessPointsSetting, place: Place): AccessPoints =>
  accessPointsOf(
    Object.entries(setting).map(
      ([label, { bucket, outpost, alias, policy, function: transforming, payload = "" }]) => ({
        name: label.slice(0, -13),
        accountId: label.slice(-12),
        bucket,
        outpostId: outpost,
        function: transforming === undefined ? undefined : { arn: transforming, payload },
        alias,
        policy: policy === undefined ? undefined : readPolicy(JSON.stringify(policy)),
      }),
    ),
    place,
  );

const readPolicy = (text: string): Policy => {
  const policy = parseBucketPolicy(text);
  if (!hasKnownKeys(policy)) throw new PolicyError("a condition is on a key that no request has");
  return policy;
};

/** The setting that declares access points. */
type AccessPointsSetting = Readonly<
  Record<
    string,
    {
      readonly bucket: string;
      readonly outpost?: string | undefined;
      readonly function?: string | undefined;
      readonly payload?: string | undefined;
      readonly alias?: string | undefined;
      readonly policy?: Readonly<Record<string, unknown>> | undefined;
    }
  >
>;

/** The ARN of an access point. */
export const accessPointArn = (
  { name, accountId: account, outpostId, function: transforming }: AccessPoint,
  place: Pick<Arn, "region" | "partition">,
): string =>
  outpostId === undefined
    ? arn({
        ...place,
        service: transforming === undefined ? "s3" : "s3-object-lambda",
        account,
        resource: `accesspoint/${name}`,
      })
    : arn({ ...place, service: "s3-outposts", account, resource: `outpost/${outpostId}/accesspoint/${name}` });

/** The one storage class of objects that are stored on premises. */
export const onPremisesClass = "OUTPOSTS";
