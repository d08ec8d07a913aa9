import type { DescFile, DescService, MessageShape, Registry } from "@bufbuild/protobuf";
import { createRegistry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";

import { file_google_rpc_error_details as errorDetails } from "../../../gen/google/rpc/error_details_pb.ts";
import type { ServerReflectionRequestSchema } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { ProtocolError } from "../wire/protocol-error.ts";
import type { Handlers } from "./handlers.ts";
import type { OfferedService } from "./route.ts";

/** Calls at the same time: anybody may ask, and leave an answer of 200 KB where it waits for its reader. */
const callsMax = 100;

type Question = MessageShape<typeof ServerReflectionRequestSchema>["messageRequest"];

/** Both versions of the reflection service, answering from the descriptors of these services. */
export const reflectionBindings = (services: readonly DescService[]): readonly OfferedService[] => {
  const offered = [...services, ServerReflection, ServerReflectionAlpha];
  let files: ReadonlyMap<string, DescFile> | undefined;
  let registry: Registry | undefined;
  const answer = (question: Question) => {
    // Of the first question: most processes are never asked.
    files ??= filesOf(offered);
    registry ??= createRegistry(...files.values());
    return answerQuestion(question, offered, files, registry);
  };
  // The two versions differ only in their package name, so one handler, typed for the first, serves both.
  let calls = 0;
  const handlers: Handlers<typeof ServerReflection, undefined> = {
    async *serverReflectionInfo(requests) {
      if (calls >= callsMax) throw new ProtocolError(Code.ResourceExhausted, "Too many ask for reflection.");
      calls += 1;
      try {
        for await (const { host, messageRequest } of requests)
          yield { validHost: host, originalRequest: { host, messageRequest }, messageResponse: answer(messageRequest) };
      } finally {
        calls -= 1;
      }
    },
  };
  return [ServerReflection, ServerReflectionAlpha].map((service) => ({
    service,
    handlers,
    app: undefined,
    isOpen: true,
  }));
};

/** The files of the services, of the details of their errors, and all that they import, each after its imports. */
const filesOf = (services: readonly DescService[]): ReadonlyMap<string, DescFile> => {
  const found = new Map<string, DescFile>();
  const add = (file: DescFile): void => {
    if (found.has(file.proto.name)) return;
    for (const imported of file.dependencies) add(imported);
    found.set(file.proto.name, file);
  };
  for (const service of services) add(service.file);
  // No service imports the details of its errors, and clients need their descriptors to show them.
  add(errorDetails);
  return found;
};

const answerQuestion = (
  question: Question,
  services: readonly DescService[],
  files: ReadonlyMap<string, DescFile>,
  registry: Registry,
) => {
  switch (question.case) {
    case "listServices":
      return {
        case: "listServicesResponse" as const,
        value: { service: services.map(({ typeName }) => ({ name: typeName })) },
      };
    case "fileByFilename":
      return fileAnswer(files.get(question.value), question.value);
    case "fileContainingSymbol":
      return fileAnswer(fileOfSymbol(question.value, registry), question.value);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      const extension = extensionsOf(containingType, registry).find(({ number }) => number === extensionNumber);
      return fileAnswer(extension?.file, `${containingType} extension ${extensionNumber}`);
    }
    case "allExtensionNumbersOfType": {
      if (registry.getMessage(question.value) === undefined) return notFound(question.value);
      const extensionNumber = extensionsOf(question.value, registry).map(({ number }) => number);
      return {
        case: "allExtensionNumbersResponse" as const,
        value: { baseTypeName: question.value, extensionNumber },
      };
    }
    default:
      return {
        case: "errorResponse" as const,
        value: { errorCode: Code.InvalidArgument, errorMessage: "The question is empty." },
      };
  }
};

const extensionsOf = (typeName: string, registry: Registry) =>
  [...registry].filter((desc) => desc.kind === "extension").filter(({ extendee }) => extendee.typeName === typeName);

/** A method, field or enum value is found by its parent. */
const fileOfSymbol = (symbol: string, registry: Registry): DescFile | undefined => {
  const type = registry.get(symbol) ?? registry.get(symbol.slice(0, Math.max(0, symbol.lastIndexOf("."))));
  return type?.file;
};

/** Anybody may ask, so that a file is encoded once. */
const encodedFiles = new WeakMap<DescFile, Uint8Array>();

const encodedFile = (file: DescFile): Uint8Array => {
  let encoded = encodedFiles.get(file);
  if (encoded === undefined) encodedFiles.set(file, (encoded = toBinary(FileDescriptorProtoSchema, file.proto)));
  return encoded;
};

const fileAnswer = (file: DescFile | undefined, asked: string) => {
  if (file === undefined) return notFound(asked);
  const all = new Map<string, Uint8Array>();
  const add = (one: DescFile): void => {
    if (all.has(one.proto.name)) return;
    all.set(one.proto.name, encodedFile(one));
    for (const imported of one.dependencies) add(imported);
  };
  add(file);
  return { case: "fileDescriptorResponse" as const, value: { fileDescriptorProto: [...all.values()] } };
};

const notFound = (asked: string) => ({
  case: "errorResponse" as const,
  value: { errorCode: Code.NotFound, errorMessage: `${asked} is not known here.` },
});
