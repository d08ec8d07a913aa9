/** How many rounds a randomized test runs: few by default, many when `QUARTET_ROUNDS` is `long`, or that number. */
export const rounds = (few: number, many: number): number => {
  const asked = process.env["QUARTET_ROUNDS"];
  if (asked === undefined || asked === "") return few;
  return asked === "long" ? many : Number(asked);
};
