import { describe, expect, it } from "vitest";

import { StoreCorruptionError } from "../../../services/kit/store/errors.ts";
import { openRecord, sealRecord } from "../../../services/kit/store/record.ts";

const key = Buffer.from("00016100", "hex");
const payload = Buffer.from("0a03616263", "hex");

describe("a record", () => {
  it("is a version, the CRC-32 of key and payload, and the payload", () => {
    expect(sealRecord(key, payload).toString("hex")).toBe("0195027cfe0a03616263");
  });

  it("is the same in memory that is given, if that is large enough", () => {
    const memory = Buffer.alloc(10, 0xff);
    const within = sealRecord(key, payload, memory);
    expect([within.toString("hex"), within.buffer === memory.buffer]).toEqual(["0195027cfe0a03616263", true]);
    const beyond = sealRecord(key, payload, memory.subarray(1));
    expect([beyond.toString("hex"), beyond.buffer === memory.buffer]).toEqual(["0195027cfe0a03616263", false]);
  });

  it("gives back its payload", () => {
    expect(Buffer.from(openRecord(key, sealRecord(key, payload))).toString("hex")).toBe("0a03616263");
    expect(openRecord(key, sealRecord(key, new Uint8Array())).byteLength).toBe(0);
  });

  it("is refused when any one bit of it differs", () => {
    const sealed = sealRecord(key, payload);
    for (let bit = 0; bit < sealed.byteLength * 8; bit += 1) {
      const damaged = Buffer.from(sealed);
      damaged[bit >> 3] = (damaged[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(() => openRecord(key, damaged), `bit ${bit}`).toThrow(StoreCorruptionError);
    }
  });

  it("is refused when it is cut off anywhere", () => {
    const sealed = sealRecord(key, payload);
    for (let length = 0; length < sealed.byteLength; length += 1)
      expect(() => openRecord(key, sealed.subarray(0, length)), `${length} bytes`).toThrow(StoreCorruptionError);
  });

  it("is refused at another key than its own", () => {
    expect(() => openRecord(Buffer.from("00016200", "hex"), sealRecord(key, payload))).toThrow(
      "the record at key 00016200 is damaged: its checksum does not hold",
    );
  });
});
