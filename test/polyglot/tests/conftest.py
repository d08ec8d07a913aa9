import uuid

import boto3
import grpc
import pytest

from system import System


@pytest.fixture(scope="session")
def system():
    running = System()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def metadata(system):
    """What a caller with a token sends with each call."""
    return [("authorization", f"Bearer {system.token()}")]


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
    """A client of object storage as boto3 makes it."""
    key = system.credentials()
    return boto3.client(
        "s3",
        endpoint_url=system.urls["gateway"],
        region_name="us-east-1",
        aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"],
    )


@pytest.fixture
def unique():
    """Part of a name that no other test uses."""
    return uuid.uuid4().hex[:12]
