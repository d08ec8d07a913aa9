import { expect, onTestFinished, test } from "vitest";

import { CustomerProfileService } from "../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { eventually } from "../support/eventually.ts";
import { startHttpReceiver } from "../support/http-receiver.ts";
import { startServiceProcess } from "../support/service-process.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";

test("an object that was accepted for the dead letter queue is sent after a kill, when the queue answers", async () => {
  let isUp = false;
  const queue = await startHttpReceiver(() => ({ status: isUp ? 200 : 503 }));
  onTestFinished(() => queue.close());
  const endpoint = { url: queue.url, accessKeyId: "AKIDEXAMPLE", secretAccessKey: "secret" };
  const dataDir = await temporaryDirectory();
  const start = () =>
    startServiceProcess({
      service: CustomerProfileService,
      folder: "customer-profile",
      dataDir,
      settings: { QUARTET_CUSTOMER_PROFILE_CONNECTORS: JSON.stringify({ sqs: endpoint }) },
    });

  const first = await start();
  const deadLetterQueueUrl = "https://queues.example/000000000000/errors";
  await first.client.createDomain({ domainName: "shop", defaultExpirationDays: 30, deadLetterQueueUrl });
  await first.client.putProfileObjectType({
    domainName: "shop",
    objectTypeName: "order",
    description: "Orders",
    fields: { number: { source: "_source.number" } },
    keys: { number: { items: [{ fieldNames: ["number"], standardIdentifiers: ["UNIQUE", "PROFILE"] }] } },
  });
  const { profileObjectUniqueKey } = await first.client.putProfileObject({
    domainName: "shop",
    objectTypeName: "order",
    object: '{"number":7}',
  });
  await first.kill();
  const sentBefore = queue.received.length;
  isUp = true;

  await start();
  const letter = await eventually(() => queue.received[sentBefore], "the letter is sent");
  expect(letter.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/[0-9]{8}\/us-east-1\/sqs\//);
  const message = JSON.parse(letter.body.toString()) as { readonly QueueUrl: string; readonly MessageBody: string };
  expect(message.QueueUrl).toBe(`${queue.url}/000000000000/errors`);
  expect(JSON.parse(message.MessageBody)).toMatchObject({
    ProfileObjectUniqueKey: profileObjectUniqueKey,
    ErrorCode: "OBJECT_MATCHES_NO_PROFILE",
    Object: '{"number":7}',
  });
});
