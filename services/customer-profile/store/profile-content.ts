import { fromBinary } from "@bufbuild/protobuf";

import type { StoredField, StoredKey } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { ProfileContentSchema } from "../../../gen/quartet/customerprofile/storage/v1/records_pb.ts";
import { encodeMessage } from "../../kit/wire/encode-message.ts";
import { idBytes, idText } from "../domain/identifier.ts";
import type { AddedKey, FieldState, ProfileState } from "../domain/profile-state.ts";

/** Encodes a profile's content as the bytes that are encrypted. */
export const encodeProfile = (state: ProfileState): Uint8Array =>
  encodeMessage(ProfileContentSchema, {
    $typeName: "quartet.customerprofile.storage.v1.ProfileContent",
    fields: [...state.fields].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(storedField),
    keys: state.keys.map(storedKey),
    createdMs: BigInt(state.createdMs),
    updatedMs: BigInt(state.updatedMs),
  });

const storedKey = ({ name, value }: AddedKey): StoredKey => ({
  $typeName: "quartet.customerprofile.storage.v1.StoredKey",
  name,
  value,
});

const storedField = ([path, { value, source }]: readonly [string, FieldState]): StoredField => {
  const field: StoredField = { $typeName: "quartet.customerprofile.storage.v1.StoredField", path, value };
  if (source !== undefined)
    field.source = {
      $typeName: "quartet.customerprofile.storage.v1.Source",
      objectTypeName: source.objectTypeName,
      objectKey: source.objectKey,
      typeId: idBytes(source.typeId),
      timeMs: BigInt(source.timeMs),
    };
  return field;
};

/** Decodes the decrypted bytes of a profile's content. */
export const decodeProfile = (bytes: Uint8Array): ProfileState => {
  const content = fromBinary(ProfileContentSchema, bytes);
  return {
    fields: new Map(content.fields.map((field) => [field.path, fieldState(field)])),
    keys: content.keys.map(({ name, value }) => ({ name, value })),
    createdMs: Number(content.createdMs),
    updatedMs: Number(content.updatedMs),
  };
};

const fieldState = ({ value, source }: StoredField): FieldState =>
  source === undefined
    ? { value }
    : {
        value,
        source: {
          objectTypeName: source.objectTypeName,
          objectKey: source.objectKey,
          typeId: idText(source.typeId),
          timeMs: Number(source.timeMs),
        },
      };
