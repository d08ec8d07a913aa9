/** The operations that are named in access logs by other words than those of their methods. */
const named: Readonly<Record<string, string>> = {
  GetObject: "REST.GET.OBJECT",
  HeadObject: "REST.HEAD.OBJECT",
  PutObject: "REST.PUT.OBJECT",
  DeleteObject: "REST.DELETE.OBJECT",
  DeleteObjects: "REST.POST.MULTI_OBJECT_DELETE",
  CopyObject: "REST.COPY.OBJECT",
  RenameObject: "REST.PUT.OBJECT_RENAME",
  PutObjectReplica: "REST.PUT.OBJECT_REPLICA",
  UploadPart: "REST.PUT.PART",
  UploadPartCopy: "REST.COPY.PART",
  CreateMultipartUpload: "REST.POST.UPLOADS",
  CompleteMultipartUpload: "REST.POST.UPLOAD",
  AbortMultipartUpload: "REST.DELETE.UPLOAD",
  ListParts: "REST.GET.UPLOAD",
  ListMultipartUploads: "REST.GET.UPLOADS",
  ListObjects: "REST.GET.BUCKET",
  ListObjectsV2: "REST.GET.BUCKET",
  ListObjectVersions: "REST.GET.BUCKETVERSIONS",
  HeadBucket: "REST.HEAD.BUCKET",
  DeleteBucket: "REST.DELETE.BUCKET",
  ForkBucket: "REST.PUT.FORK",
  RestoreObject: "REST.POST.RESTORE",
  SelectObjectContent: "REST.POST.SELECT",
  SearchObjects: "REST.POST.SEARCH",
};

/** The resources that are named by other words than those of their operations. */
const resources: Readonly<Record<string, string>> = {
  BUCKET_ACL: "ACL",
  BUCKET_POLICY: "BUCKETPOLICY",
  BUCKET_LOGGING: "LOGGING_STATUS",
  OBJECT_RETENTION: "OBJECT_LOCK_RETENTION",
  OBJECT_LEGAL_HOLD: "OBJECT_LOCK_LEGALHOLD",
  OBJECT_LOCK_CONFIGURATION: "OBJECT_LOCK_CONFIGURATION",
};

/** How access logs name the operation of a method, for example `REST.GET.OBJECT` of GetObject. */
export const logOperation = (method: string): string => {
  const known = named[method];
  if (known !== undefined) return known;
  const [, verb = "", noun = ""] = /^([A-Z][a-z]+)(.+)$/.exec(method) ?? [];
  const words = noun.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
  const resource = resources[words] ?? words.replace(/^BUCKET_/, "").replace(/_CONFIGURATIONS?$/, "");
  return `REST.${verb === "List" ? "GET" : verb.toUpperCase()}.${resource}`;
};

/** How the log of a copy's source names the read of it. */
export const sourceOperation = (method: string): string => `${logOperation(method)}_GET`;
