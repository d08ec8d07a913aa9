import { webcrypto } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";

import type { X509Certificate } from "@peculiar/x509";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** The files of one certificate. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

/** An authority that certifies whom a test names. */
export interface TestAuthority {
  /** The file of its own certificate. */
  readonly file: string;
  /** Writes a new certificate and key, `<name>.crt` and `<name>.key`, for `localhost` and `127.0.0.1` unless asked. */
  certify(name: string, asked?: AskedCertificate): Promise<CertificateFiles>;
}

/** What a certificate says. */
export interface AskedCertificate {
  /** Unset: `localhost` and `127.0.0.1`. */
  readonly hosts?: readonly string[];
  /** Days from now. Unset: a day ago. */
  readonly validFromDays?: number;
  /** Days from now. Unset: in a day. */
  readonly validToDays?: number;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;

const generateKeys = () => webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);

const validity = ({ validFromDays = -1, validToDays = 1 }: AskedCertificate) => ({
  notBefore: new Date(Date.now() + validFromDays * dayMs),
  notAfter: new Date(Date.now() + validToDays * dayMs),
});

const extensionsFor = ({ hosts = ["localhost", "127.0.0.1"] }: AskedCertificate) => [
  new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
  new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }))),
];

const writeFiles = async (
  directory: string,
  name: string,
  certificate: X509Certificate,
  key: webcrypto.CryptoKey,
): Promise<CertificateFiles> => {
  const files = { certificate: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64");
  await writeFile(files.certificate, certificate.toString("pem"));
  await writeFile(files.key, `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`, { mode: 0o600 });
  return files;
};

/** Writes a certificate that is signed by its own key, and the key. */
export const certifyByItself = async (
  directory: string,
  name: string,
  asked: AskedCertificate = {},
): Promise<CertificateFiles> => {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    ...validity(asked),
    keys,
    signingAlgorithm: algorithm,
    extensions: extensionsFor(asked),
  });
  return writeFiles(directory, name, certificate, keys.privateKey);
};

/** An authority of its own, whose files stand in the directory. */
export const createAuthority = async (directory: string, name = "authority"): Promise<TestAuthority> => {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - 100 * dayMs),
    notAfter: new Date(Date.now() + 100 * dayMs),
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign),
    ],
  });
  const file = join(directory, `${name}.crt`);
  await writeFile(file, certificate.toString("pem"));

  const certify = async (subject: string, asked: AskedCertificate = {}): Promise<CertificateFiles> => {
    const own = await generateKeys();
    const issued = await X509CertificateGenerator.create({
      subject: `CN=${subject}`,
      issuer: certificate.subject,
      ...validity(asked),
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: extensionsFor(asked),
    });
    return writeFiles(directory, subject, issued, own.privateKey);
  };
  return { file, certify };
};
