import { ConfigError } from "../config/config-error.ts";
import { AccessKeyFileError } from "../identity/access-keys.ts";
import { MasterKeysError } from "../keyring/master-keys.ts";
import { DataFormatError, StoreDamageError, StoreFullError } from "../store/errors.ts";

/** Errors whose messages are written for operators. */
const forOperators = [ConfigError, AccessKeyFileError, MasterKeysError, StoreDamageError, DataFormatError];

/** Why a start failed, as a sentence that says what to change; undefined for an error that only its stack explains. */
export const startFailure = (error: unknown): string | undefined => {
  if (!(error instanceof Error)) return undefined;
  if (forOperators.some((kind) => error instanceof kind)) return error.message;
  if (error instanceof StoreFullError) return `${error.message}; make room, or set another dataDir`;
  const { code, syscall, path, address, port, cause } = error as SystemError;
  if (code === "LEVEL_LOCKED")
    return "its database is in use by another process; stop that one, or set another dataDir";
  if (syscall === "listen" || syscall === "bind") {
    const sentence = listenFailures[code ?? ""];
    if (sentence !== undefined) return `${formatPlace(address, port)} ${sentence}; --help lists the settings`;
  }
  const sentence = fileFailures[code ?? ""];
  if (sentence !== undefined && path !== undefined) return `${path} ${sentence}`;
  return startFailure(cause);
};

interface SystemError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
}

const listenFailures: Readonly<Record<string, string>> = {
  EADDRINUSE: "is in use by another program: choose another address",
  EADDRNOTAVAIL: "is not an address of this machine: choose another address",
  EACCES: "may not be listened on by this user: choose a port from 1024 on",
};

const fileFailures: Readonly<Record<string, string>> = {
  EACCES: "may not be used by this user; change its owner or mode, or set another dataDir",
  EPERM: "may not be used by this user; change its owner or mode, or set another dataDir",
  EROFS: "is on a file system that is mounted read-only; set another dataDir",
  ENOTDIR: "is not in a directory; set another dataDir",
  ENOSPC: "cannot be written because the disk is full; make room, or set another dataDir",
};

const formatPlace = (address: string | undefined, port: number | undefined): string => {
  if (port === undefined) return address ?? "an address";
  return address?.includes(":") === true ? `[${address}]:${port}` : `${address ?? ""}:${port}`;
};
