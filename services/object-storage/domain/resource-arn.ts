import { arn } from "../../kit/arn/arn.ts";

/** The ARN of a bucket by its name, or of an object by its bucket and its key with a slash between them. */
export const resourceArn = ({ partition }: { readonly partition: string }, resource: string): string =>
  arn({ partition, service: "s3", region: "", account: "", resource });
