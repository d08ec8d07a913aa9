import type { DescMethod, Message } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { PermissionContract, ReadMember } from "../contract/permissions.ts";
import { elementReader, memberReader, methodPermissions } from "../contract/permissions.ts";

/** One thing that a call must be allowed: an action on a resource, as the contract declares it. */
export interface Question {
  readonly permission: PermissionContract;
  /** The resource template with the members' values, for example `rule/orders/late`; empty where a member is unset. */
  readonly resource: string;
  /** Reads the members of the request, or of the list's element. */
  readonly read: ReadMember;
  /** The index in the list whose elements are decided on one by one; undefined: the whole call is decided on. */
  readonly element: number | undefined;
}

/** The text of a member of the request, by its path in proto names; empty where it is unset. */
export const textOf = ({ read }: Pick<Question, "read">, member: string): string => {
  const value = read(member);
  return typeof value === "string" ? value : "";
};

/**
 * The questions of a call in the order of the contract, those of a list in the order of its elements. With `isOpen`,
 * for a request whose document is still to be read, a list has one question, on no element.
 */
export const questionsOf = (method: DescMethod, request: Message, isOpen = false): Question[] => {
  const whole = memberReader(request, method.input);
  return methodPermissions(method).permissions.flatMap((permission) => {
    const { list, element: desc } = permission;
    if (list === undefined || desc === undefined) return questionsFor(permission, whole, undefined);
    if (isOpen) return questionsFor(permission, elementReader(whole, list, create(desc), desc), undefined);
    const elements = (whole(list) ?? []) as readonly Message[];
    return elements.flatMap((element, index) =>
      questionsFor(permission, elementReader(whole, list, element, desc), index),
    );
  });
};

const questionsFor = (permission: PermissionContract, read: ReadMember, element: number | undefined): Question[] =>
  permission.appliesTo(read)
    ? filled(permission, read).map((resource) => ({ permission, resource, read, element }))
    : [];

/** The resources that a template names: one, or one for each value of a member that is in a list. */
const filled = ({ resource }: PermissionContract, read: ReadMember): string[] => {
  let texts = [""];
  let hasSeveral = false;
  for (const piece of resource) {
    const value = "text" in piece ? piece.text : read(piece.member);
    if (Array.isArray(value)) {
      const values = textsOf(value);
      hasSeveral = true;
      texts = texts.flatMap((text) => values.map((each) => text + each));
    } else if (typeof value === "string") texts = texts.map((text) => text + value);
  }
  return hasSeveral ? [...new Set(texts)] : texts;
};

const textsOf = (values: readonly unknown[]): string[] => values.filter((each) => typeof each === "string");
