import type { Ids } from "../../services/kit/ids/ids.ts";

/**
 * Identifiers that count upwards, so that tests can name them: uuid 00000000-0000-4000-8000-000000000001, token
 * 0000000001, hex 0…01.
 */
export const fixedIds = (): Ids => {
  let count = 0;
  const next = (length: number): string => (++count).toString().padStart(length, "0").slice(-length);
  const uuid = (): string => `00000000-0000-4000-8000-${next(12)}`;
  return {
    uuid,
    uuidAt: uuid,
    token: (length) => next(length),
    hex: (length) => next(length),
  };
};
