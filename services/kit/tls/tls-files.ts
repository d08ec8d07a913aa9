import { createPrivateKey, X509Certificate } from "node:crypto";

import type { Clock } from "../clock/clock.ts";
import { ConfigError } from "../config/config-error.ts";
import type { ReadText } from "../config/watched-files.ts";
import { openWatched } from "../config/watched-files.ts";
import type { Logger } from "../log/log.ts";

/** The certificate, key and authorities of one end of a TLS connection, as PEM texts. */
export interface TlsMaterial {
  /** The certificate, with those that lead to its authority. */
  readonly certificate?: string;
  readonly key?: string;
  /** The trusted authorities. Unset: the well-known ones. */
  readonly authority?: string;
}

/** Material that may be renewed while the process runs. */
export interface TlsSource {
  /** The same object until something changes. */
  current(): TlsMaterial;
}

/** The paths of the material. Empty: no file. */
export interface TlsPaths {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/**
 * Opens PEM files, which are read again when they change: the next connection uses a renewed certificate. An invalid
 * renewal is logged and the last valid one stays. Throws ConfigError at the start, naming the file.
 */
export const openTlsFiles = (paths: TlsPaths, clock: Clock, log: Logger): TlsSource => {
  if ((paths.certificate === "") !== (paths.key === ""))
    throw new ConfigError("a certificate and its key go together: one of them is set without the other");
  return openWatched({
    read: (readText) => readMaterial(paths, readText),
    clock,
    onChange: () => log.info("read renewed TLS files"),
    onFailure: (reason) => log.error({ reason }, "keeps the former TLS files"),
  });
};

const readMaterial = ({ certificate, key, authority }: TlsPaths, readText: ReadText): TlsMaterial => {
  const material = {
    ...(certificate !== "" && { certificate: readPem(certificate, readText), key: readPem(key, readText) }),
    ...(authority !== "" && { authority: readPem(authority, readText) }),
  };
  if (material.certificate !== undefined && material.key !== undefined)
    checkPair(certificate, material.certificate, key, material.key);
  if (material.authority !== undefined) parseCertificate(authority, material.authority);
  return material;
};

const readPem = (path: string, readText: ReadText): string => {
  const text = readText(path);
  if (text === undefined) throw new ConfigError(`there is no file ${path}`);
  return text;
};

/** A renewal writes two files, one after the other; between the two they do not match. */
const checkPair = (certificatePath: string, certificate: string, keyPath: string, key: string): void => {
  const parsed = parseCertificate(certificatePath, certificate);
  let isPair: boolean;
  try {
    isPair = parsed.checkPrivateKey(createPrivateKey(key));
  } catch {
    throw new ConfigError(`${keyPath} has no private key in PEM without a passphrase`);
  }
  if (!isPair) throw new ConfigError(`${keyPath} is not the key of the certificate ${certificatePath}`);
};

const parseCertificate = (path: string, text: string): X509Certificate => {
  try {
    return new X509Certificate(text);
  } catch {
    throw new ConfigError(`${path} has no certificate in PEM`);
  }
};
