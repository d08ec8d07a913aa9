import type { AnyDesc, DescExtension } from "@bufbuild/protobuf";
import { getOption, hasOption } from "@bufbuild/protobuf";

const defaults = new WeakMap<DescExtension, unknown>();

const read = (element: AnyDesc, option: DescExtension): unknown => {
  if (hasOption(element, option)) return getOption(element, option);
  if (!defaults.has(option)) defaults.set(option, getOption(element, option));
  return defaults.get(option);
};

/**
 * The value of an option, like `getOption`, except that the value of an option that is not set is made once for all
 * descriptors, and must not be changed: making it for each was most of the time in which a contract is read.
 */
export const readOption = read as typeof getOption;
