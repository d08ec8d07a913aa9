import { PatternError } from "./pattern-error.ts";

/** A CIDR block: the addresses of one version with the same first bits. */
export interface CidrBlock {
  /** 32 for IPv4, 128 for IPv6. */
  readonly width: 32 | 128;
  /** The number of leading bits that addresses of the block have in common. */
  readonly bits: number;
  /** The value of these bits. */
  readonly prefix: bigint;
}

/** An IP address. An IPv4 address mapped into IPv6 is an IPv6 address. */
export interface IpAddress {
  readonly width: 32 | 128;
  readonly value: bigint;
}

/** Parses four decimal numbers (leading zeros do not mean octal) or an IPv6 address. Undefined if it is neither. */
export const parseAddress = (text: string): IpAddress | undefined => {
  if (text.length > 45) return undefined;
  if (text.includes(":")) return parseSix(text);
  const value = parseFour(text);
  return value === undefined ? undefined : { width: 32, value };
};

/** A text that is equal for all spellings of an address. */
export const addressKey = (address: IpAddress): string => `${address.width}:${address.value.toString(16)}`;

/** The first bits of an address. */
export const leadingBits = (address: IpAddress, bits: number): bigint => address.value >> BigInt(address.width - bits);

/** Parses `address/bits`. Bits after the mask are ignored. Throws PatternError. */
export const parseCidrBlock = (text: string): CidrBlock => {
  const [literal = "", mask, ...rest] = text.split("/");
  if (mask === undefined || rest.length > 0) throw new PatternError("Malformed CIDR, one '/' required");
  if (!/^[+-]?[0-9]{1,9}$/.test(mask)) throw new PatternError("Malformed CIDR, mask bits must be an integer");
  const bits = Number(mask);
  if (bits < 0) throw new PatternError("Malformed CIDR, mask bits must not be negative");
  const address = parseAddress(literal);
  if (address === undefined) throw new PatternError(`Nonstandard IP address: ${literal}`);
  if (bits >= address.width)
    throw new PatternError(`${address.width === 32 ? "IPv4" : "IPv6"} mask bits must be < ${address.width}`);
  return { width: address.width, bits, prefix: leadingBits(address, bits) };
};

const fourShape = /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$/;

const parseFour = (text: string): bigint | undefined => {
  if (!fourShape.test(text)) return undefined;
  const parts = text.split(".").map(Number);
  if (parts.some((part) => part > 255)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
};

const parseSix = (text: string): IpAddress | undefined => {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const front = groupsOf(halves[0] ?? "", halves.length === 1);
  const back = groupsOf(halves[1] ?? "", true);
  if (front === undefined || back === undefined) return undefined;
  const missing = 8 - front.length - back.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...front, ...Array<bigint>(missing).fill(0n), ...back];
  return { width: 128, value: groups.reduce((value, group) => (value << 16n) | group, 0n) };
};

/** The 16-bit groups of a part of an IPv6 address. At the end of the address, the last may be an IPv4 address. */
const groupsOf = (text: string, isEnd: boolean): bigint[] | undefined => {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    if (/^[0-9a-fA-F]{1,4}$/.test(part)) {
      groups.push(BigInt(`0x${part}`));
      continue;
    }
    const four = isEnd && index === parts.length - 1 ? parseFour(part) : undefined;
    if (four === undefined) return undefined;
    groups.push(four >> 16n, four & 0xffffn);
  }
  return groups;
};
