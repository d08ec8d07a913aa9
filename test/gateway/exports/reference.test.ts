import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { spellingOf } from "../../../gateway/dialects/dialect.ts";
import { svcDialect } from "../../../gateway/dialects/svc.ts";
import { exportSources } from "../../../gateway/exports/export-source.ts";
import { readProtoComments } from "../../../gateway/exports/proto-comments.ts";
import { referencePage } from "../../../gateway/exports/reference.ts";

/** What `npm run check` compares with the contract. */
const page = (name: string): string =>
  readFileSync(join(import.meta.dirname, "..", "..", "..", "docs", "reference", `${name}.md`), "utf8");

const section = (name: string, heading: string): string => sectionOf(page(name), heading);

const sectionOf = (text: string, heading: string): string =>
  text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";

test("an operation shows its request, permissions, members with limits, and calls by three clients", () => {
  const putRule = section("event-bus", "PutRule");
  expect(putRule).toContain("- `POST /` with `x-amz-target: AWSEvents.PutRule`\n- Needs `PutRule`, ");
  expect(putRule).toContain(
    "| `Name` | text | body | required; 1 to 64 long; matches `[._A-Za-z0-9-]+` | The rule's name. Never empty. |",
  );
  expect(putRule).toContain(
    [
      "aws events put-rule --name '<name>'",
      'python -c \'boto3.client("events").put_rule(Name="<name>")\'',
      'grpcurl -plaintext -H "authorization: Bearer $TOKEN" -d \'{"name":"<name>"}\' 127.0.0.1:8082 quartet.eventbus.v1.EventBusService/PutRule',
    ].join("\n"),
  );
});

test("an operation of the XML API shows its path, and pages of a listing their tokens", () => {
  const list = section("object-storage", "ListObjectsV2");
  expect(list).toContain("- `GET /{Bucket}?list-type=2`, status 200\n");
  expect(list).toContain("- Answers in pages: `continuation_token` takes `next_continuation_token`.");
});

test("an operation that is not offered says so and shows no call", () => {
  const [source] = exportSources(spellingOf(svcDialect("svc")), readProtoComments());
  const text = referencePage({ ...source!, unoffered: new Set(["GetMatches"]) });
  expect(sectionOf(text, "GetMatches")).toContain("**Not offered**");
  expect(sectionOf(text, "GetMatches")).not.toContain("aws customer-profiles");
  expect(sectionOf(text, "MergeProfiles")).toContain("aws customer-profiles");
});

test("errors have their code and status, types their members", () => {
  expect(section("object-storage", "Errors")).toMatch(/\| `NoSuchKey` \| 404 \| The specified key does not exist\./);
  expect(section("event-bus", "Types")).toContain("### PutEventsRequestEntry\n");
});

test("settings have their variable and default; a secret shows none", () => {
  expect(page("settings")).toContain(
    "| `dataDir` | `QUARTET_DATA_DIR` | `./data` | Directory that holds each process's data and the installation's keys. |",
  );
  expect(page("settings")).toContain(
    "| `secretAccessKey` | `QUARTET_SECRET_ACCESS_KEY` |  | Secret of that access key. |",
  );
});
