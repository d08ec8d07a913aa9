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

/** An IP address. An IPv4 address that is mapped into IPv6 is that IPv4 address. */
export interface IpAddress {
  readonly width: 32 | 128;
  readonly value: bigint;
}

/**
 * Parses four decimal numbers (leading zeros do not mean octal), or eight hexadecimal groups or fewer with one `::`.
 * Undefined if it is neither; decimal numbers within IPv6 (`::ffff:10.0.0.1`) are not part of the language.
 */
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

const fourLengthMax = 15;
const fourShape = /^[0-9]+(?:\.[0-9]+){3}$/;

const parseFour = (text: string): bigint | undefined => {
  if (text.length > fourLengthMax || !fourShape.test(text)) return undefined;
  const parts = text.split(".").map(Number);
  if (parts.some((part) => part > 255)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
};

const mappedPrefix = 0xffffn;

const parseSix = (text: string): IpAddress | undefined => {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const front = groupsOf(halves[0] ?? "");
  const back = groupsOf(halves[1] ?? "");
  if (front === undefined || back === undefined) return undefined;
  const missing = 8 - front.length - back.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...front, ...Array<bigint>(missing).fill(0n), ...back];
  const value = groups.reduce((whole, group) => (whole << 16n) | group, 0n);
  return value >> 32n === mappedPrefix ? { width: 32, value: value & 0xffffffffn } : { width: 128, value };
};

/** The 16-bit groups of a part of an IPv6 address. */
const groupsOf = (text: string): bigint[] | undefined => {
  if (text === "") return [];
  const parts = text.split(":");
  return parts.every((part) => /^0*[0-9a-fA-F]{1,4}$/.test(part))
    ? parts.map((part) => BigInt(`0x${part}`))
    : undefined;
};
