import { join } from "node:path";

import { describe, expect, onTestFinished, test } from "vitest";

import type { BrokerSetting } from "../../../../services/event-bus/domain/broker.ts";
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
      /** How the password may be checked. Unset: there is one way. */
      readonly mechanisms?: readonly BrokerSetting["mechanism"][];
      readonly start: (files: Files) => Promise<BrokerServer>;
    }
  >
> = {
  nats: {
    isInstalled: hasNats,
    user: "ada",
    place: "subject/shop.sales",
    // No stream has the subject.
    accepted: "retry NO_RESOURCE: No stream has this subject.",
    start: ({ certificate, key }) =>
      startNats(
        `tls { cert_file: "${certificate}", key_file: "${key}" }\nauthorization { user: ada, password: "${password}" }`,
      ),
  },
  redis: {
    isInstalled: hasRedis,
    user: "default",
    place: "stream/sales",
    accepted: "delivered",
    start: ({ certificate, key, authority }) => {
      const tls = ["--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", authority];
      const ports = ["--tls-auth-clients", "no", "--tls-port", "PORT", "--port", "0"];
      return startRedis("--requirepass", password, ...ports, ...tls);
    },
  },
  postgresql: {
    isInstalled: hasPostgresql,
    user: "postgres",
    place: "channel/sales",
    accepted: "delivered",
    start: (files) => startPostgresql({ files, password }),
  },
  amqp: {
    isInstalled: hasRabbitMq,
    user: "guest",
    place: "exchange/amq.topic/sales",
    // No queue is bound.
    accepted: "failed NO_RESOURCE: No queue receives the messages of this target.",
    start: (files) => startRabbitMq({ files, password }),
  },
  kafka: {
    isInstalled: hasKafka,
    user: "ada",
    place: "topic/sales",
    accepted: "retry NO_RESOURCE: The topic does not exist.",
    mechanisms: ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"],
    start: (files) => startKafka({ files, password }),
  },
};

const certify = async (): Promise<Files> => {
  const directory = await temporaryDirectory();
  const [authority, other] = [await createAuthority(directory), await createAuthority(directory, "other")];
  const certified = await authority.certify("broker", { hosts: ["broker.internal"] });
  return { ...certified, authority: authority.file, other: other.file };
};

describe.each(Object.entries(kinds))("an encrypted broker of the kind %s", (kind, { isInstalled, start, ...how }) => {
  test.skipIf(!isInstalled())(
    "accepts the right name, authority and login, and says what is not right, without the secret",
    async () => {
      const files = await certify();
      const server = await start(files);
      onTestFinished(() => server.stop());
      const right: BrokerSetting = {
        // Nothing listens at the first host.
        url: `${kind}://127.0.0.1:1,127.0.0.1:${server.port}`,
        user: how.user,
        password,
        mechanism: how.mechanisms?.[0],
        authority: files.authority,
        servername: "broker.internal",
      };
      const outcomeOf = async (setting: BrokerSetting): Promise<string> => {
        const { outcomeAt } = await openBrokerShop(setting, { limits: { requestMsMax: 5_000 } });
        return outcomeAt(how.place);
      };
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
});
