"""Targets of the event bus in other services, as moto implements these."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import boto3
import pytest

import stock
from system import System

ACCOUNT = "000000000000"
REGION = stock.REGION
WAIT_SECONDS_MAX = 60
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
def bus_system(moto):
    endpoint = {"url": moto, "accessKeyId": "AKIAEXAMPLE", "secretAccessKey": "example"}
    running = System({"eventBus": {"connectors": {name: endpoint for name in SERVICES}, "unknownRoles": "allow"}})
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
