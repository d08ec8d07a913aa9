/** Whether something that was thrown has this code, such as one of the system's: ENOENT. */
export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
