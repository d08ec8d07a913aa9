import { create } from "@bufbuild/protobuf";

import { TaggingSchema } from "../../gen/quartet/objectstorage/v1/tagging_pb.ts";
import { parseXml } from "../codecs/xml-tree.ts";
import { readXmlMembers } from "../codecs/xml-reader.ts";
import { malformedBody } from "../refusal.ts";
import type { Reading } from "../values/reading.ts";

/**
 * The tags of a form, which are an XML document, as the header of a request has them: URL query parameters. Throws
 * MALFORMED_BODY.
 */
export const taggingHeader = (document: string, reading: Reading): string => {
  const root = parseXml(document);
  if (root.name !== "Tagging") throw malformedBody(`The tags have the root ${root.name}, but Tagging is expected.`);
  const tagging = create(TaggingSchema);
  readXmlMembers(tagging, TaggingSchema, root, reading);
  return tagging.tagSet
    .map(({ key = "", value = "" }) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join("&");
};
