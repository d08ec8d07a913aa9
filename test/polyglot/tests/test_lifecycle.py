"""Lifecycle rules and restores with boto3, in an installation whose days last a second."""

import time

import botocore.exceptions
import pytest

import stock
from system import System

SECONDS_MAX = 60


@pytest.fixture(scope="module")
def s3():
    running = System({"objectStorage": {"lifecycleSecondsPerDay": 1, "restoreSeconds": 1}})
    yield stock.client_of(running)
    running.stop()


def eventually(probe, what):
    end = time.monotonic() + SECONDS_MAX
    while not probe():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def code_of(call, **arguments):
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(**arguments)
    return refused.value.response["Error"]["Code"]


def test_rules_end_objects_and_old_versions(s3, unique):
    bucket = f"life-{unique}"
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    for body in (b"1", b"2"):
        s3.put_object(Bucket=bucket, Key="logs/a", Body=body)
    s3.put_object(Bucket=bucket, Key="kept", Body=b"x")
    rules = [
        {
            "ID": "logs",
            "Status": "Enabled",
            "Filter": {"Prefix": "logs/"},
            "Expiration": {"Days": 1},
            "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
        }
    ]
    s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": rules})
    assert s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"] == rules

    def is_done():
        listed = s3.list_object_versions(Bucket=bucket)
        return [each["Key"] for each in listed.get("Versions", [])] == ["kept"] and "DeleteMarkers" not in listed

    eventually(is_done, "the rules ended everything below logs/, with its delete marker")


def test_an_archived_object_is_restored(s3, unique):
    bucket = f"cold-{unique}"
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="a", Body=b"old", StorageClass="DEEP_ARCHIVE")
    named = {"Bucket": bucket, "Key": "a"}
    assert code_of(s3.get_object, **named) == "InvalidObjectState"
    answer = s3.restore_object(**named, RestoreRequest={"Days": 600})
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 202
    eventually(lambda: 'ongoing-request="false"' in s3.head_object(**named).get("Restore", ""), "it was restored")
    assert s3.get_object(**named)["Body"].read() == b"old"
    assert code_of(s3.restore_object, Bucket=bucket, Key="none", RestoreRequest={"Days": 1}) == "NoSuchKey"
