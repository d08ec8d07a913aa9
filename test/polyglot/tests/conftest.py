import math
import time
import uuid

import grpc
import pytest

import stock
from system import System


@pytest.fixture(scope="session")
def system():
    running = System()
    yield running
    running.stop()


# Tokens are valid for five minutes; no test that uses one takes the rest of them.
TOKEN_SECONDS_MAX = 60


@pytest.fixture(scope="session")
def token_of(system):
    """Answers with a token that is valid for minutes, whenever it is called."""
    made = {"token": "", "at": -math.inf}

    def token() -> str:
        if time.monotonic() - made["at"] > TOKEN_SECONDS_MAX:
            made.update(token=system.token(), at=time.monotonic())
        return made["token"]

    return token


@pytest.fixture
def metadata(token_of):
    """What a caller with a token sends with each call."""
    return [("authorization", f"Bearer {token_of()}")]


@pytest.fixture(scope="session")
def channel_to(system):
    """Makes channels to services by name."""
    channels = []

    def connect(service: str) -> grpc.Channel:
        channel = grpc.insecure_channel(system.urls[service].removeprefix("http://"))
        channels.append(channel)
        return channel

    yield connect
    for channel in channels:
        channel.close()


@pytest.fixture
def s3(system):
    """A client of object storage as boto3 makes it, but that a refusal is not tried again."""
    return stock.client_of(system, retries={"total_max_attempts": 1})


@pytest.fixture(scope="module")
def environment(system):
    """The environment of a tool that knows nothing but the endpoint and a key."""
    key = system.credentials()
    return stock.environment_of(system.urls["gateway"], key["accessKeyId"], key["secretAccessKey"])


@pytest.fixture
def unique():
    """Part of a name that no other test uses."""
    return uuid.uuid4().hex[:12]
