/** One segment of a source path: literal text, or a parameter, which matches any segment. */
export type SourceSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: string };

/** The segments of a source path such as `/users/{id}/orders`, which must satisfy its field's pattern. */
export const parseSourcePath = (sourcePath: string): SourceSegment[] =>
  sourcePath
    .slice(1)
    .split("/")
    .map((segment) =>
      segment.startsWith("{") && segment.endsWith("}")
        ? { kind: "parameter", name: segment.slice(1, -1) }
        : { kind: "literal", text: segment },
    );

/** The text of a segment as the proxy decodes it, in which each character is a byte: those of UTF-8. */
export const segmentText = (segment: string): string => Buffer.from(segment, "latin1").toString("utf8");

/** The texts of a source path's parameters in the decoded segments of a request that it matches. */
export const pathParameters = (sourcePath: string, segments: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    parseSourcePath(sourcePath).flatMap((segment, index) =>
      segment.kind === "parameter" ? [[segment.name, segmentText(segments[index] ?? "")]] : [],
    ),
  );

/** The path without the names of its parameters: two paths of the same shape match the same requests. */
export const sourcePathShape = (sourcePath: string): string =>
  parseSourcePath(sourcePath)
    .map((segment) => (segment.kind === "literal" ? `/${segment.text}` : "/{}"))
    .join("");

/** Whether a source path has a segment that clients and proxies resolve, so that no request can match it. */
export const hasDotSegment = (sourcePath: string): boolean =>
  parseSourcePath(sourcePath).some(
    (segment) => segment.kind === "literal" && (segment.text === "." || segment.text === ".."),
  );

/**
 * Every path of the proxy's tree that a route occupies, from the first segment on; `{proxy+}` represents child paths.
 */
export const occupiedPaths = (sourcePath: string, includeChildPaths: boolean): string[] => {
  const segments = sourcePath.slice(1).split("/");
  const paths = segments.map((_segment, index) => `/${segments.slice(0, index + 1).join("/")}`);
  return includeChildPaths ? [...paths, `${sourcePath}/{proxy+}`] : paths;
};
