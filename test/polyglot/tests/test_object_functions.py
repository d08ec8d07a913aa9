"""Functions of access points: boto3 answers what boto3 reads."""

import contextlib
import http.server
import json
import queue
import threading
import urllib.request

import botocore.exceptions
import pytest

import stock
from system import System

POINT = "loud-x1--ol-s3"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:shout"
LARGE = bytes(range(256)) * 32_768
SECONDS_MAX = 30


class Functions(http.server.ThreadingHTTPServer):
    """Calls functions as the public service does; `handle_event` is the one that the test has, and may be replaced."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Call)
        self.events = []
        self.handle_event = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Call(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.events.append((self.path, event))
        self.server.handle_event(event)
        # The call is given up once the read has its whole answer.
        with contextlib.suppress(ConnectionError):
            self.send_response(200)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"null")

    def log_message(self, *_arguments):
        pass


@pytest.fixture(scope="module")
def functions():
    server = Functions()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def point_system(functions):
    point = {"bucket": "films", "function": FUNCTION, "alias": POINT, "payload": "loudly"}
    running = System({"objectStorage": {"functionsUrl": functions.url, "accessPoints": {"loud-000000000000": point}}})
    stock.client_of(running).create_bucket(Bucket="films")
    yield running
    running.stop()


@pytest.fixture
def reader(point_system):
    return stock.client_of(point_system, retries={"total_max_attempts": 1})


@pytest.fixture
def answer(point_system):
    """Answers the read of an event."""
    # The route of an answer comes before the host, which is an address here.
    writer = stock.client_of(point_system, retries={"total_max_attempts": 1}, inject_host_prefix=False)

    def write(event, **members):
        context = event["getObjectContext"]
        route = {"RequestRoute": context["outputRoute"], "RequestToken": context["outputToken"]}
        return writer.write_get_object_response(**route, **members)

    return write


def original_of(event) -> bytes:
    """The object, which a function reads by a URL without a key."""
    with urllib.request.urlopen(event["getObjectContext"]["inputS3Url"]) as response:
        return response.read()


def test_a_read_is_answered_with_what_the_function_makes_of_the_object(functions, reader, answer):
    functions.handle_event = lambda event: answer(
        event,
        Body=original_of(event).upper(),
        ContentType="text/loud",
        CacheControl="no-store",
        Metadata={"by": "function"},
        ETag='"loud"',
    )
    reader.put_object(Bucket="films", Key="a/ü b", Body=b"quiet")
    read = reader.get_object(Bucket=POINT, Key="a/ü b")
    assert read["Body"].read() == b"QUIET"
    assert (read["ContentType"], read["CacheControl"], read["ETag"]) == ("text/loud", "no-store", '"loud"')
    assert read["Metadata"] == {"by": "function"}
    path, event = functions.events[-1]
    assert path == "/2015-03-31/functions/shout/invocations"
    assert event["configuration"]["payload"] == "loudly"
    assert reader.get_object(Bucket="films", Key="a/ü b")["Body"].read() == b"quiet"


def test_a_large_answer_arrives_whole(functions, reader, answer):
    functions.handle_event = lambda event: answer(event, Body=LARGE[: len(original_of(event)) * 1_048_576])
    reader.put_object(Bucket="films", Key="long", Body=b"12345678")
    assert reader.get_object(Bucket=POINT, Key="long")["Body"].read() == LARGE


def test_a_refusal_of_the_function_is_that_of_the_read(functions, reader, answer):
    functions.handle_event = lambda event: answer(
        event, StatusCode=404, ErrorCode="NoSuchFilm", ErrorMessage="There is <none>."
    )
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        reader.get_object(Bucket=POINT, Key="gone")
    error = refused.value.response["Error"]
    assert (error["Code"], error["Message"]) == ("NoSuchFilm", "There is <none>.")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_a_read_without_an_answer_is_refused(functions, reader):
    functions.handle_event = lambda event: None
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        reader.get_object(Bucket=POINT, Key="gone")
    assert refused.value.response["Error"]["Code"] == "LambdaResponseNotReceived"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500


def test_a_read_is_answered_once(functions, reader, answer):
    codes = queue.Queue()

    def answer_twice(event):
        answer(event, Body=b"first")
        with pytest.raises(botocore.exceptions.ClientError) as refused:
            answer(event, Body=b"second")
        codes.put(refused.value.response["Error"]["Code"])

    functions.handle_event = answer_twice
    assert reader.get_object(Bucket=POINT, Key="any")["Body"].read() == b"first"
    assert codes.get(timeout=SECONDS_MAX) == "ValidationError"
