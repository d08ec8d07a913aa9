import { ErrorReason } from "../../../gen/quartet/objectstorage/v1/error_reason_pb.ts";
import type { Resource } from "../../kit/access/decide.ts";
import type { Arn } from "../../kit/arn/arn.ts";
import type { Question } from "../../kit/access/questions.ts";
import type { AccessPoint } from "./access-points.ts";
import { accessPointArn, onPremisesClass } from "./access-points.ts";
import { fault } from "../faults.ts";
import type { ServiceKey } from "./service-keys.ts";

/** The members of requests that ask for what is not there on premises. */
interface OnPremisesMembers {
  readonly acl?: string;
  readonly accessControlPolicy?: object;
  readonly grantFullControl?: string;
  readonly grantRead?: string;
  readonly grantReadAcp?: string;
  readonly grantWrite?: string;
  readonly grantWriteAcp?: string;
  readonly storageClass?: string;
}

/**
 * Checks what an access point on premises accepts. Throws, in this order, ACCESS_CONTROL_LIST_NOT_SUPPORTED for any
 * ACL, and INVALID_STORAGE_CLASS for another storage class than the one that there is.
 */
export const checkOnPremises = ({ outpostId }: AccessPoint, request: object): void => {
  if (outpostId === undefined) return;
  const { acl, accessControlPolicy, storageClass, ...members } = request as OnPremisesMembers;
  const { grantFullControl, grantRead, grantReadAcp, grantWrite, grantWriteAcp } = members;
  const lists = [acl, accessControlPolicy, grantFullControl, grantRead, grantReadAcp, grantWrite, grantWriteAcp];
  if (lists.some((each) => each !== undefined)) throw fault(ErrorReason.ACCESS_CONTROL_LIST_NOT_SUPPORTED);
  if (storageClass !== undefined && storageClass !== onPremisesClass)
    throw fault(ErrorReason.INVALID_STORAGE_CLASS, { storage_class_requested: storageClass });
};

/**
 * The resource of a question at the access point: the point itself, or an object at it. It has the point's own policy,
 * and belongs to the point's account.
 */
export const resourceAt = (
  point: AccessPoint,
  place: Pick<Arn, "region" | "partition">,
  question: Question,
  ofBucket: Resource,
): Resource => {
  const { conditions, action, shownAs = "" } = ofBucket;
  const arn = accessPointArn(point, place);
  const slash = shownAs.indexOf("/");
  const isObject = question.permission.template !== "{bucket}" && slash !== -1;
  const asked = action ?? question.permission.action;
  return {
    arn: isObject ? `${arn}/object/${shownAs.slice(slash + 1)}` : arn,
    ownerAccountId: point.accountId,
    policies: point.policy === undefined ? [] : [point.policy],
    shownAs,
    ...(conditions && { conditions }),
    action: point.function === undefined || asked.includes(":") ? asked : `s3-object-lambda:${asked}`,
  };
};

/** The resource of a bucket with the condition keys of the access point by which it is reached. */
export const reachedBy = (
  point: AccessPoint | undefined,
  place: Pick<Arn, "region" | "partition">,
  resource: Resource,
): Resource => {
  if (point === undefined) return resource;
  const ofPoint = new Map<ServiceKey, readonly string[]>([
    ["s3:dataaccesspointarn", [accessPointArn(point, place)]],
    ["s3:dataaccesspointaccount", [point.accountId]],
  ]);
  return { ...resource, conditions: new Map([...(resource.conditions ?? []), ...ofPoint]) };
};
