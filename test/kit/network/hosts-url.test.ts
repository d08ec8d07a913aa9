import { expect, test } from "vitest";

import { parseHostsUrl } from "../../../services/kit/network/hosts-url.ts";

// text, its parts
test.each([
  ["nats://a", { scheme: "nats", hosts: [{ host: "a", port: undefined }], path: "" }],
  [
    "kafka://a:1,[fe80::1]:65535/b%20c",
    {
      scheme: "kafka",
      hosts: [
        { host: "a", port: 1 },
        { host: "fe80::1", port: 65_535 },
      ],
      path: "b c",
    },
  ],
  ["amqp://a/", { scheme: "amqp", hosts: [{ host: "a", port: undefined }], path: "" }],
  ["amqp://a/%E0%A4%A", undefined],
  ["amqp://", undefined],
  ["amqp://a:65536", undefined],
  ["amqp://a,", undefined],
  ["amqp://user@a", undefined],
  ["amqp://a?b", undefined],
  ["amqp://fe80::1", undefined],
  ["a:1", undefined],
])("%s has the parts %j", (text, parts) => {
  expect(parseHostsUrl(text)).toEqual(parts);
});
