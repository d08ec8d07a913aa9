import type { AnyDesc, DescFile } from "@bufbuild/protobuf";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** The comment of an element of the protos, as one line; undefined if it has none. */
export type Describe = (desc: AnyDesc) => string | undefined;

/**
 * Reads the comments of the protos. Generated descriptors have none, so the protos are built again; that requires
 * `buf`, which an installation for production does not have.
 */
export const readProtoComments = (): Describe => {
  const root = join(import.meta.dirname, "..", "..");
  const buf = join(root, "node_modules", ".bin", "buf");
  const image = execFileSync(buf, ["build", "--output", "-#format=binpb"], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  const files = createFileRegistry(fromBinary(FileDescriptorSetSchema, image)).files;
  const comments = new Map([...files].flatMap((file) => [...commentsOf(file)]));
  return (desc) => comments.get(keyOf(desc));
};

const keyOf = (desc: AnyDesc): string => {
  switch (desc.kind) {
    case "field":
    case "oneof":
    case "enum_value":
      return `${desc.kind} ${desc.parent.typeName}.${desc.name}`;
    case "rpc":
      return `${desc.kind} ${desc.parent.typeName}.${desc.name}`;
    case "file":
      return `${desc.kind} ${desc.name}`;
    default:
      return `${desc.kind} ${desc.typeName}`;
  }
};

const commentsOf = function* (file: DescFile): Iterable<readonly [string, string]> {
  const byPath = new Map(
    (file.proto.sourceCodeInfo?.location ?? []).map((location) => [location.path.join("."), location.leadingComments]),
  );
  for (const [desc, path] of pathsOf(file)) {
    const comment = byPath
      .get(path.join("."))
      ?.trim()
      .replaceAll(/\s*\n\s*/g, " ");
    if (comment !== undefined && comment !== "") yield [keyOf(desc), comment];
  }
};

// The numbers are those of the fields of FileDescriptorProto and of the messages in it.
const pathsOf = function* (file: DescFile): Iterable<readonly [AnyDesc, readonly number[]]> {
  for (const [index, message] of file.messages.entries()) yield* pathsOfMessage(message, [4, index]);
  for (const [index, each] of file.enums.entries()) yield* pathsOfEnum(each, [5, index]);
  for (const [index, service] of file.services.entries()) {
    yield [service, [6, index]];
    for (const [number, method] of service.methods.entries()) yield [method, [6, index, 2, number]];
  }
};

const pathsOfMessage = function* (
  message: DescFile["messages"][number],
  path: readonly number[],
): Iterable<readonly [AnyDesc, readonly number[]]> {
  yield [message, path];
  for (const field of message.fields) yield [field, [...path, 2, message.proto.field.indexOf(field.proto)]];
  for (const [index, nested] of message.nestedMessages.entries()) yield* pathsOfMessage(nested, [...path, 3, index]);
  for (const [index, nested] of message.nestedEnums.entries()) yield* pathsOfEnum(nested, [...path, 4, index]);
};

const pathsOfEnum = function* (
  each: DescFile["enums"][number],
  path: readonly number[],
): Iterable<readonly [AnyDesc, readonly number[]]> {
  yield [each, path];
  for (const [index, value] of each.values.entries()) yield [value, [...path, 2, index]];
};
