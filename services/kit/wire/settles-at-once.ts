/**
 * Whether a promise fulfils, with a value that has the property, before anything else of the event loop runs: what was
 * received or computed already can then be sent together with what came before. False if it rejects or takes longer;
 * whoever awaits it later gets its outcome.
 */
export const settlesAtOnce = <T>(promise: Promise<T>, has: (value: T) => boolean): Promise<boolean> =>
  new Promise((resolve) => {
    const later = setImmediate(resolve, false);
    const settle = (isSo: boolean): void => {
      clearImmediate(later);
      resolve(isSo);
    };
    promise.then(
      (value) => settle(has(value)),
      () => settle(false),
    );
  });
