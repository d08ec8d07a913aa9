/** Who refers to a piece of memory, and what happens when nobody does any more. */
interface Loan {
  holders: number;
  readonly whenReturned: () => void;
}

const loans = new WeakMap<ArrayBufferLike, Loan>();

/**
 * Lends the memory of these bytes, all of it, to whoever receives them or parts of them. It is returned when each of
 * its holders has given it back; at first there is one. Who does not know of loans gives nothing back, and then the
 * memory is left to the collection as any other.
 */
export const lend = (bytes: Uint8Array, whenReturned: () => void): void => {
  loans.set(bytes.buffer, { holders: 1, whenReturned });
};

/**
 * Lends memory that is freed when it was returned: bytes in it have no length then. Does nothing if these bytes are
 * only a part of their memory, because somebody else may have the rest.
 */
export const lendToFree = (bytes: Uint8Array): void => {
  if (bytes.byteLength === bytes.buffer.byteLength) lend(bytes, () => freeMemory(bytes));
};

/** Whether the memory of these bytes is lent. */
export const isLent = (bytes: Uint8Array): boolean => loans.has(bytes.buffer);

/** Adds a holder of lent memory, for other bytes in it or for who needs them longer. Does nothing to other memory. */
export const hold = (bytes: Uint8Array): void => {
  const loan = loans.get(bytes.buffer);
  if (loan !== undefined) loan.holders += 1;
};

/**
 * One holder needs the bytes no longer: not even the system may still read them, so a write must have ended. Does
 * nothing to memory that is not lent.
 */
export const giveBack = (bytes: Uint8Array): void => {
  const loan = loans.get(bytes.buffer);
  if (loan === undefined) return;
  loan.holders -= 1;
  if (loan.holders > 0) return;
  loans.delete(bytes.buffer);
  loan.whenReturned();
};

/** Frees the memory of bytes that nobody refers to, now and not when a collection finds it. */
export const freeMemory = ({ buffer }: Uint8Array): void => {
  (buffer as ArrayBuffer).transfer(0);
};
