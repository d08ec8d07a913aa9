import { webcrypto } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

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
  /** Writes a new certificate and key, `<name>.crt` and `<name>.key`, for `localhost` and `127.0.0.1`. */
  certify(name: string): Promise<CertificateFiles>;
}

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const dayMs = 86_400_000;

/** An authority of its own, whose files stand in the directory. */
export const createAuthority = async (directory: string, name = "authority"): Promise<TestAuthority> => {
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const notBefore = new Date(Date.now() - dayMs);
  const notAfter = new Date(Date.now() + dayMs);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore,
    notAfter,
    keys,
    signingAlgorithm: algorithm,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign),
    ],
  });
  const file = join(directory, `${name}.crt`);
  await writeFile(file, certificate.toString("pem"));

  const certify = async (subject: string): Promise<CertificateFiles> => {
    const own = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    const issued = await X509CertificateGenerator.create({
      subject: `CN=${subject}`,
      issuer: certificate.subject,
      notBefore,
      notAfter,
      publicKey: own.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
        new SubjectAlternativeNameExtension([
          { type: "dns", value: "localhost" },
          { type: "ip", value: "127.0.0.1" },
        ]),
      ],
    });
    const files = { certificate: join(directory, `${subject}.crt`), key: join(directory, `${subject}.key`) };
    const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", own.privateKey)).toString("base64");
    await writeFile(files.certificate, issued.toString("pem"));
    await writeFile(files.key, `-----BEGIN PRIVATE KEY-----\n${pkcs8}\n-----END PRIVATE KEY-----\n`, { mode: 0o600 });
    return files;
  };
  return { file, certify };
};
