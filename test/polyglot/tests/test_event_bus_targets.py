"""Targets of the event bus in other services, as moto implements these, and signed webhooks and CloudEvents."""

import base64
import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import boto3
import botocore.exceptions
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cloudevents.core.bindings import http as cloud_events
from cloudevents.core.v1.event import CloudEvent
from standardwebhooks.webhooks import Webhook

import stock
from system import System

ACCOUNT = "000000000000"
REGION = stock.REGION
WAIT_SECONDS_MAX = 60
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SERVICES = ["sqs", "sns", "lambda", "kinesis", "logs", "firehose", "states"]


def eventually(read, what: str):
    """The first value that is not empty."""
    end = time.monotonic() + WAIT_SECONDS_MAX
    while time.monotonic() < end:
        value = read()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"not within {WAIT_SECONDS_MAX} s: {what}")


@pytest.fixture(scope="module")
def moto(tmp_path_factory):
    """The address of a server of its own process."""
    recording = tmp_path_factory.mktemp("moto") / "recording"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        env={**os.environ, "MOTO_ACCOUNT_ID": ACCOUNT, "MOTO_RECORDER_FILEPATH": str(recording)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"

    def is_up() -> bool:
        try:
            # Functions answer without a container.
            config = json.dumps({"lambda": {"use_docker": False}, "stepfunctions": {"execute_state_machine": False}})
            request = urllib.request.Request(f"{url}/moto-api/config", config.encode(), method="POST")
            request.add_header("content-type", "application/json")
            return urllib.request.urlopen(request, timeout=5).status < 300
        except OSError:
            return False

    try:
        eventually(is_up, "moto answers")
        yield url
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def webhook():
    """The server of a webhook; `received` are the headers, by names in lower case, and the body of each request."""

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            self.server.received.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.received = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def bus_system(moto, webhook):
    endpoint = {"url": moto, "accessKeyId": "AKIAEXAMPLE", "secretAccessKey": "example"}
    hook = {"url": f"http://127.0.0.1:{webhook.server_port}/hook", "secret": WEBHOOK_SECRET}
    running = System(
        {
            "eventBus": {
                "connectors": {name: endpoint for name in SERVICES},
                "brokers": {f"{ACCOUNT}/hook": hook},
                "unknownRoles": "allow",
            },
            "objectStorage": {"connectors": {name: endpoint for name in ["sqs", "sns", "lambda"]}},
        }
    )
    yield running
    running.stop()


@pytest.fixture(scope="module")
def of(moto):
    """Makes clients of moto's services."""
    return lambda service: boto3.client(
        service,
        endpoint_url=moto,
        region_name=REGION,
        aws_access_key_id="AKIAEXAMPLE",
        aws_secret_access_key="example",
    )


@pytest.fixture(scope="module")
def events(bus_system):
    return stock.client_of(bus_system, "events")


def arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{resource}"


ROLE = f"arn:aws:iam::{ACCOUNT}:role/deliver"


def sell(events, unique: str, **target) -> str:
    """Puts one sale for one target; returns its id."""
    events.put_rule(Name=unique, EventPattern=json.dumps({"source": [unique]}))
    events.put_targets(Rule=unique, Targets=[{"Id": "t", **target}])
    [entry] = events.put_events(Entries=[{"Source": unique, "DetailType": "Sale", "Detail": '{"n": 7}'}])["Entries"]
    return entry["EventId"]


def message_of(queues, url: str) -> dict:
    def receive():
        return queues.receive_message(QueueUrl=url, MessageAttributeNames=["All"]).get("Messages")

    return eventually(receive, "a message is in the queue")[0]


def test_a_queue_receives_the_event(events, of, unique):
    url = of("sqs").create_queue(QueueName=unique)["QueueUrl"]
    event_id = sell(events, unique, Arn=arn("sqs", unique))
    event = json.loads(message_of(of("sqs"), url)["Body"])
    assert (event["id"], event["source"], event["detail"]) == (event_id, unique, {"n": 7})


def test_an_ordered_queue_receives_the_input_in_its_group(events, of, unique):
    name = f"{unique}.fifo"
    url = of("sqs").create_queue(QueueName=name, Attributes={"FifoQueue": "true"})["QueueUrl"]
    sell(events, unique, Arn=arn("sqs", name), InputPath="$.detail", SqsParameters={"MessageGroupId": "sales"})
    [message] = eventually(
        lambda: of("sqs").receive_message(QueueUrl=url, AttributeNames=["All"]).get("Messages"), "a message is there"
    )
    assert (message["Body"], message["Attributes"]["MessageGroupId"]) == ('{"n": 7}', "sales")


def test_a_topic_passes_the_event_on_to_its_subscribers(events, of, unique):
    url = of("sqs").create_queue(QueueName=unique)["QueueUrl"]
    topic = of("sns").create_topic(Name=unique)["TopicArn"]
    of("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn("sqs", unique))
    event_id = sell(events, unique, Arn=topic)
    notification = json.loads(message_of(of("sqs"), url)["Body"])
    assert json.loads(notification["Message"])["id"] == event_id


def test_a_stream_receives_the_event_with_its_partition_key(events, of, unique):
    of("kinesis").create_stream(StreamName=unique, ShardCount=1)
    event_id = sell(
        events,
        unique,
        Arn=arn("kinesis", f"stream/{unique}"),
        RoleArn=ROLE,
        KinesisParameters={"PartitionKeyPath": "$.source"},
    )
    streams = of("kinesis")

    def read():
        [shard] = streams.describe_stream(StreamName=unique)["StreamDescription"]["Shards"]
        begin = streams.get_shard_iterator(
            StreamName=unique, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )
        return streams.get_records(ShardIterator=begin["ShardIterator"])["Records"]

    [record] = eventually(read, "a record is in the stream")
    assert (json.loads(record["Data"])["id"], record["PartitionKey"]) == (event_id, unique)


def test_a_log_group_receives_the_event_in_a_stream_that_is_created(events, of, unique):
    of("logs").create_log_group(logGroupName=unique)
    event_id = sell(events, unique, Arn=arn("logs", f"log-group:{unique}"))

    def read():
        return of("logs").filter_log_events(logGroupName=unique)["events"]

    [line] = eventually(read, "a line is in the log group")
    assert json.loads(line["message"])["id"] == event_id


def test_a_delivery_stream_receives_the_event(events, of, unique):
    of("s3").create_bucket(Bucket=unique)
    of("firehose").create_delivery_stream(
        DeliveryStreamName=unique,
        S3DestinationConfiguration={"RoleARN": ROLE, "BucketARN": f"arn:aws:s3:::{unique}"},
    )
    event_id = sell(events, unique, Arn=arn("firehose", f"deliverystream/{unique}"), RoleArn=ROLE)
    [written] = eventually(lambda: of("s3").list_objects_v2(Bucket=unique).get("Contents"), "an object is written")
    body = of("s3").get_object(Bucket=unique, Key=written["Key"])["Body"].read()
    assert json.loads(body)["id"] == event_id


def test_a_state_machine_is_started_with_the_event(events, of, unique):
    machine = of("stepfunctions").create_state_machine(
        name=unique,
        definition=json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
        roleArn=ROLE,
    )["stateMachineArn"]
    event_id = sell(events, unique, Arn=machine, RoleArn=ROLE)

    def read():
        return of("stepfunctions").list_executions(stateMachineArn=machine)["executions"]

    [execution] = eventually(read, "an execution is started")
    described = of("stepfunctions").describe_execution(executionArn=execution["executionArn"])
    assert json.loads(described["input"])["id"] == event_id


def test_a_function_is_invoked_with_the_event(events, moto, unique):
    def recorder(action: str) -> None:
        urllib.request.urlopen(urllib.request.Request(f"{moto}/moto-api/recorder/{action}", method="POST"), timeout=5)

    def read():
        """The requests for the function; the server has no file of requests before the first."""
        try:
            lines = urllib.request.urlopen(f"{moto}/moto-api/recorder/download-recording", timeout=5).read().splitlines()
        except urllib.error.HTTPError:
            return []
        return [call for call in map(json.loads, lines) if "/invocations" in call["url"] and unique in call["url"]]

    recorder("start-recording")
    try:
        event_id = sell(events, unique, Arn=arn("lambda", f"function:{unique}"))
        written = eventually(read, "the function is called")
    finally:
        recorder("stop-recording")
    assert [json.loads(base64.b64decode(call["body"]))["id"] for call in written] == [event_id]


def notify(system, bucket: str, **configuration):
    """A bucket that notifies by a configuration."""
    s3 = stock.client_of(system, "s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration=configuration)
    return s3


def test_a_bucket_notifies_a_queue_of_its_objects(bus_system, of, unique):
    url = of("sqs").create_queue(QueueName=unique)["QueueUrl"]
    filter = {"Key": {"FilterRules": [{"Name": "prefix", "Value": "in/"}]}}
    entry = {"QueueArn": arn("sqs", unique), "Events": ["s3:ObjectCreated:*"], "Filter": filter}
    s3 = notify(bus_system, unique, QueueConfigurations=[entry])
    test = message_of(of("sqs"), url)
    assert (json.loads(test["Body"])["Event"], json.loads(test["Body"])["Bucket"]) == ("s3:TestEvent", unique)
    of("sqs").delete_message(QueueUrl=url, ReceiptHandle=test["ReceiptHandle"])
    s3.put_object(Bucket=unique, Key="out/a", Body=b"not told")
    s3.put_object(Bucket=unique, Key="in/a b", Body=b"told")
    [record] = json.loads(message_of(of("sqs"), url)["Body"])["Records"]
    told = record["s3"]["object"]
    assert (record["eventName"], told["key"], told["size"]) == ("ObjectCreated:Put", "in/a+b", 4)


def test_a_bucket_notifies_a_queue_of_an_upload_by_a_form(bus_system, of, unique):
    url = of("sqs").create_queue(QueueName=unique)["QueueUrl"]
    entry = {"QueueArn": arn("sqs", unique), "Events": ["s3:ObjectCreated:Post"]}
    s3 = notify(bus_system, unique, QueueConfigurations=[entry])
    test = message_of(of("sqs"), url)
    of("sqs").delete_message(QueueUrl=url, ReceiptHandle=test["ReceiptHandle"])
    s3.put_object(Bucket=unique, Key="put", Body=b"not told")
    form = s3.generate_presigned_post(unique, "posted")
    parts = [(name, (None, value)) for name, value in form["fields"].items()] + [("file", ("a.txt", b"told"))]
    assert requests.post(form["url"], files=parts, timeout=10).status_code == 204
    [record] = json.loads(message_of(of("sqs"), url)["Body"])["Records"]
    assert (record["eventName"], record["s3"]["object"]["key"]) == ("ObjectCreated:Post", "posted")


def test_a_bucket_notifies_a_topic_of_deletions(bus_system, of, unique):
    url = of("sqs").create_queue(QueueName=unique)["QueueUrl"]
    topic = of("sns").create_topic(Name=unique)["TopicArn"]
    entry = {"Id": "gone", "TopicArn": topic, "Events": ["s3:ObjectRemoved:*"]}
    s3 = notify(bus_system, unique, TopicConfigurations=[entry])
    of("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn("sqs", unique))
    s3.put_object(Bucket=unique, Key="a", Body=b"a")
    s3.delete_object(Bucket=unique, Key="a")
    notification = json.loads(message_of(of("sqs"), url)["Body"])
    [record] = json.loads(notification["Message"])["Records"]
    assert (notification["Subject"], record["eventName"]) == ("Amazon S3 Notification", "ObjectRemoved:Delete")
    assert record["s3"]["configurationId"] == "gone"


def test_a_queue_that_is_missing_is_refused(bus_system, unique):
    entry = {"QueueArn": arn("sqs", f"missing-{unique}"), "Events": ["s3:ObjectCreated:*"]}
    with pytest.raises(botocore.exceptions.ClientError) as refusal:
        notify(bus_system, unique, QueueConfigurations=[entry])
    error = refusal.value.response["Error"]
    message = "Unable to validate the following destination configurations"
    assert (error["Code"], error["Message"]) == ("InvalidArgument", message)


def test_an_event_for_a_missing_queue_is_a_letter_in_the_queue_for_dead_letters(events, of, unique):
    url = of("sqs").create_queue(QueueName=unique)["QueueUrl"]
    missing = arn("sqs", f"{unique}-missing")
    event_id = sell(events, unique, Arn=missing, DeadLetterConfig={"Arn": arn("sqs", unique)})
    letter = message_of(of("sqs"), url)
    assert json.loads(letter["Body"])["id"] == event_id
    attributes = {name: value["StringValue"] for name, value in letter["MessageAttributes"].items()}
    assert attributes["TARGET_ARN"] == missing
    assert attributes["RULE_ARN"] == arn("events", f"rule/{unique}")
    assert attributes["ERROR_CODE"] == "NO_RESOURCE"


def signed_post(system, path: str, headers: dict[str, str], body: bytes) -> dict:
    """What the gateway answers to a request that is signed for the event bus."""
    key = system.credentials()
    request = AWSRequest("POST", system.urls["gateway"] + path, data=body, headers=headers)
    SigV4Auth(Credentials(key["accessKeyId"], key["secretAccessKey"]), "events", REGION).add_auth(request)
    sent = urllib.request.Request(request.url, data=body, headers=dict(request.headers), method="POST")
    return json.loads(urllib.request.urlopen(sent, timeout=20).read())


def webhooks_from(webhook, source: str) -> list:
    """The requests of one source, each with a signature that the library of Standard Webhooks accepts."""
    received = [call for call in webhook.received if source in call[1].decode() + repr(call[0])]
    for headers, body in received:
        Webhook(WEBHOOK_SECRET).verify(body, headers)
    return received


def test_a_webhook_is_signed_as_the_library_verifies(events, webhook, unique):
    event_id = sell(events, unique, Arn=arn("events", "broker/hook"))
    [(_, body)] = eventually(lambda: webhooks_from(webhook, unique), "the webhook is called")
    assert json.loads(body)["id"] == event_id


@pytest.mark.parametrize("accepted", [cloud_events.to_structured_event, cloud_events.to_binary_event])
@pytest.mark.parametrize("delivered", ["STRUCTURED", "BINARY"])
def test_the_sdk_reads_the_cloud_event_that_it_sent(bus_system, events, webhook, unique, accepted, delivered):
    sent = CloudEvent(
        {
            "specversion": "1.0",
            "id": "1-\u00f6",
            "source": f"https://example.com/{unique}",
            "type": "com.example.sale",
            "subject": "two words",
            "datacontenttype": "application/json",
            "shop": "\u0141\u00f3d\u017a",
        },
        {"n": 7, "currency": "\u20ac"},
    )
    events.put_rule(Name=unique, EventPattern=json.dumps({"source": [sent.get_source()]}))
    target = {"Id": "t", "Arn": arn("events", "broker/hook"), "CloudEventParameters": {"ContentMode": delivered}}
    put_targets = {"content-type": "application/x-amz-json-1.1", "x-amz-target": "AWSEvents.PutTargets"}
    # The models of boto3 do not have this member of targets.
    signed_post(bus_system, "/", put_targets, json.dumps({"Rule": unique, "Targets": [target]}).encode())
    message = accepted(sent)
    signed_post(bus_system, "/event-bus/cloudevents", message.headers, message.body)
    [(headers, body)] = eventually(lambda: webhooks_from(webhook, unique), "the webhook is called")
    received = cloud_events.from_http_event(cloud_events.HTTPMessage(headers=headers, body=body))
    assert (received.get_attributes(), received.get_data()) == (sent.get_attributes(), sent.get_data())
