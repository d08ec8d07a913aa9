import type { DescFile, DescMessage } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";

import { CreateProfileRequestSchema } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { file_quartet_objectstorage_v1_lifecycle } from "../../gen/quartet/objectstorage/v1/lifecycle_pb.ts";
import { file_quartet_objectstorage_v1_object } from "../../gen/quartet/objectstorage/v1/object_pb.ts";

/** Prints the descriptors of files with all of their messages, and a request that was encoded and decoded. */
const withNested = (message: DescMessage): DescMessage[] => [message, ...message.nestedMessages.flatMap(withNested)];

const described = (file: DescFile) => ({
  encoded: Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)).toString("base64"),
  messages: file.messages.flatMap(withNested).map(({ typeName, fields, oneofs }) => ({
    typeName,
    fields: fields.map(({ number, localName, jsonName, message }) => [number, localName, jsonName, message?.typeName]),
    oneofs: oneofs.map(({ localName }) => localName),
  })),
});

const request = create(CreateProfileRequestSchema, { domainName: "shop", attributes: { size: "m" } });
const read = fromBinary(CreateProfileRequestSchema, toBinary(CreateProfileRequestSchema, request));
const files = [file_quartet_objectstorage_v1_lifecycle, file_quartet_objectstorage_v1_object].map(described);
process.stdout.write(JSON.stringify({ files, request: toJson(CreateProfileRequestSchema, read) }));
