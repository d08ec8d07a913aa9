const asked = process.env["QUARTET_ROUNDS"];
if (asked !== undefined && asked !== "long") throw new Error("QUARTET_ROUNDS must be unset or long");

/** True under `npm run soak`, which sets `QUARTET_ROUNDS=long`. */
export const isSoak = asked === "long";

/** How many rounds a test runs: `few` with the other tests, `many` under `npm run soak`. */
export const rounds = (few: number, many: number): number => (isSoak ? many : few);
