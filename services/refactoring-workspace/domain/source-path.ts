/** One segment of a source path: a text that must be met, or a name for any one segment. */
export type SourceSegment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: string };

/** The segments of a source path such as `/users/{id}/orders`. The path satisfies its field's pattern already. */
export const parseSourcePath = (sourcePath: string): SourceSegment[] =>
  sourcePath
    .slice(1)
    .split("/")
    .map((segment) =>
      segment.startsWith("{") && segment.endsWith("}")
        ? { kind: "parameter", name: segment.slice(1, -1) }
        : { kind: "literal", text: segment },
    );

/** The path with its names left out: two paths with the same shape match the same requests. */
export const sourcePathShape = (sourcePath: string): string =>
  parseSourcePath(sourcePath)
    .map((segment) => (segment.kind === "literal" ? `/${segment.text}` : "/{}"))
    .join("");

/** A source path that no request can be meant by: a segment that proxies and browsers resolve away. */
export const hasDotSegment = (sourcePath: string): boolean =>
  parseSourcePath(sourcePath).some(
    (segment) => segment.kind === "literal" && (segment.text === "." || segment.text === ".."),
  );

/** Every path of the proxy's tree that a route occupies, from the first segment on; children stand as `{proxy+}`. */
export const occupiedPaths = (sourcePath: string, includeChildPaths: boolean): string[] => {
  const segments = sourcePath.slice(1).split("/");
  const paths = segments.map((_segment, index) => `/${segments.slice(0, index + 1).join("/")}`);
  return includeChildPaths ? [...paths, `${sourcePath}/{proxy+}`] : paths;
};
