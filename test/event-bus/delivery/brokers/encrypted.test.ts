import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { BrokerSetting } from "../../../../services/event-bus/domain/broker.ts";
import type { CertificateFiles } from "../../../support/certificates.ts";
import { createAuthority } from "../../../support/certificates.ts";
import { temporaryDirectory } from "../../../support/temporary-directory.ts";
import { openBrokerShop } from "./broker-shop.ts";
import type { BrokerServer } from "./servers.ts";
import {
  hasKafka,
  hasNats,
  hasPostgresql,
  hasRabbitMq,
  hasRedis,
  startKafka,
  startNats,
  startPostgresql,
  startRabbitMq,
  startRedis,
} from "./servers.ts";

/*
 * Brokers that speak TLS alone and ask for a user and a password. Their certificate is one of `broker.internal`, where
 * nothing can be reached, so it is accepted only with that name as `servername`.
 */

interface Files {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
  readonly other: string;
  /** Files of a certificate for clients with its key: by the authority, and by the other one. */
  readonly client: string;
  readonly stranger: string;
}

const password = "of-the-broker";

/** How each server is started, and what a target names at it. */
const kinds: Readonly<
  Record<
    string,
    {
      readonly isInstalled: () => boolean;
      readonly user: string;
      readonly place: string;
      /** What a delivery ends as that the server has accepted as one of its user. */
      readonly accepted: string;
      /** What it ends as where the server requests a certificate and is shown none. Unset: the handshake says it. */
      readonly withoutCertificate?: string;
      /** How the password may be checked. Unset: there is one way. */
      readonly mechanisms?: readonly BrokerSetting["mechanism"][];
      /** `clients`: the authority whose certificates clients must show. Unset: none is requested. */
      readonly start: (files: Files, clients?: string) => Promise<BrokerServer>;
    }
  >
> = {
  nats: {
    isInstalled: hasNats,
    user: "ada",
    place: "subject/shop.sales",
    // No stream has the subject.
    accepted: "retry NO_RESOURCE: No stream has this subject.",
    start: ({ certificate, key }, clients) => {
      const verified = clients === undefined ? "" : `, ca_file: "${clients}", verify: true`;
      return startNats(
        `tls { cert_file: "${certificate}", key_file: "${key}"${verified} }\n` +
          `authorization { user: ada, password: "${password}" }`,
      );
    },
  },
  redis: {
    isInstalled: hasRedis,
    user: "default",
    place: "stream/sales",
    accepted: "delivered",
    start: ({ certificate, key, authority }, clients) => {
      const tls = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", clients ?? authority];
      const ports = ["--tls-auth-clients", clients === undefined ? "no" : "yes", "--tls-port", "PORT", "--port", "0"];
      return startRedis("--requirepass", password, ...ports, ...tls);
    },
  },
  postgresql: {
    isInstalled: hasPostgresql,
    user: "postgres",
    place: "channel/sales",
    accepted: "delivered",
    withoutCertificate: "retry NO_PERMISSIONS: The broker refuses the installation's credentials.",
    start: (files, clients) => startPostgresql({ files, password, clients }),
  },
  amqp: {
    isInstalled: hasRabbitMq,
    user: "guest",
    place: "exchange/amq.topic/sales",
    // No queue is bound.
    accepted: "failed NO_RESOURCE: No queue receives the messages of this target.",
    start: (files, clients) => startRabbitMq({ files, password, clients }),
  },
  kafka: {
    isInstalled: hasKafka,
    user: "ada",
    place: "topic/sales",
    accepted: "retry NO_RESOURCE: The topic does not exist.",
    mechanisms: ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"],
    start: (files, clients) => startKafka({ files, password, clients }),
  },
};

/** Writes a certificate and its key into one file, as the setting wants them. */
const joined = async ({ certificate, key }: CertificateFiles): Promise<string> => {
  const file = `${certificate}.pem`;
  await writeFile(file, `${await readFile(certificate, "utf8")}\n${await readFile(key, "utf8")}`);
  return file;
};

const certify = async (): Promise<Files> => {
  const directory = await temporaryDirectory();
  const [authority, other] = [await createAuthority(directory), await createAuthority(directory, "other")];
  const certified = await authority.certify("broker", { hosts: ["broker.internal"] });
  const client = await joined(await authority.certify("client"));
  const stranger = await joined(await other.certify("stranger"));
  return { ...certified, authority: authority.file, other: other.file, client, stranger };
};

describe.each(Object.entries(kinds))("an encrypted broker of the kind %s", (kind, { isInstalled, start, ...how }) => {
  const settingOf = (server: BrokerServer, files: Files): BrokerSetting => ({
    // Nothing listens at the first host.
    url: `${kind}://127.0.0.1:1,127.0.0.1:${server.port}`,
    user: how.user,
    password,
    mechanism: how.mechanisms?.[0],
    authority: files.authority,
    servername: "broker.internal",
  });
  const outcomeOf = async (setting: BrokerSetting): Promise<string> => {
    const { outcomeAt } = await openBrokerShop(setting, { limits: { requestMsMax: 5_000 } });
    return outcomeAt(how.place);
  };

  test.skipIf(!isInstalled())(
    "accepts the right name, authority and login, and says what is not right, without the secret",
    async () => {
      const files = await certify();
      const server = await start(files);
      onTestFinished(() => server.stop());
      const right = settingOf(server, files);
      for (const mechanism of how.mechanisms ?? []) {
        expect(await outcomeOf({ ...right, mechanism })).toBe(how.accepted);
        expect(await outcomeOf({ ...right, mechanism, password: "wrong-secret" })).toMatch(/^retry NO_PERMISSIONS: /);
      }
      const outcomes = [];
      for (const change of [
        {},
        { password: "wrong-secret" },
        { authority: files.other },
        { servername: "another.internal" },
        { servername: undefined },
        { authority: join(files.other, "missing") },
      ])
        outcomes.push(await outcomeOf({ ...right, ...change }));
      const certificate = "retry CONNECTION_FAILURE: The certificate of the broker is not accepted";
      expect(outcomes).toEqual([
        how.accepted,
        "retry NO_PERMISSIONS: The broker refuses the installation's credentials.",
        expect.stringMatching(`^${certificate}: (?:UNABLE_TO_|SELF_SIGNED_|CERT_)[A-Z_]+\\.$`),
        `${certificate}: ERR_TLS_CERT_ALTNAME_INVALID.`,
        `${certificate}: ERR_TLS_CERT_ALTNAME_INVALID.`,
        "retry CONNECTION_FAILURE: The file of the authorities that certify the broker cannot be read.",
      ]);
    },
    240_000,
  );

  test.skipIf(!isInstalled())(
    "that requests a certificate accepts the one of the setting, and says why it accepts no other",
    async () => {
      const files = await certify();
      const server = await start(files, files.authority);
      onTestFinished(() => server.stop());
      const right = settingOf(server, files);
      const outcomes = [];
      for (const certificate of [
        files.client,
        undefined,
        files.stranger,
        join(files.client, "missing"),
        files.authority,
      ])
        outcomes.push(await outcomeOf({ ...right, certificate }));
      // By TLS 1.3 a client may have sent its login before the server has looked at its certificate. The server then
      // resets the connection, and the reset can arrive before its reason is read.
      const refused = expect.stringMatching(
        /^retry CONNECTION_FAILURE: The broker (?:does not accept the installation's certificate: ERR_SSL_[A-Z0-9_/]+|could not be reached: (?:ECONNRESET|EPIPE))\.$/,
      );
      expect(outcomes).toEqual([
        how.accepted,
        how.withoutCertificate ?? refused,
        refused,
        "retry CONNECTION_FAILURE: The file of the certificate for the broker cannot be read.",
        expect.stringMatching(
          /^retry CONNECTION_FAILURE: The certificate for the broker or its key cannot be used: ERR_OSSL_[A-Z0-9_]+\.$/,
        ),
      ]);
    },
    240_000,
  );
});
