"""The second factor of deletions with boto3, whose `MFA` is a device's serial number and a code."""

import base64
import hashlib
import hmac
import struct
import time

import botocore.exceptions
import pytest

import stock
from system import System

ACCOUNT = "000000000000"
SERIAL = f"arn:aws:iam::{ACCOUNT}:mfa/root"
SECRET = b"12345678901234567890"
STEP_SECONDS = 30


def code_of(step: int) -> str:
    """The code of RFC 6238 of a step of 30 seconds."""
    digest = hmac.new(SECRET, struct.pack(">Q", step), hashlib.sha1).digest()
    [number] = struct.unpack_from(">I", digest, digest[-1] & 15)
    return f"{(number & 0x7FFFFFFF) % 1_000_000:06d}"


@pytest.fixture(scope="module")
def s3():
    device = {"serial": SERIAL, "secret": base64.b32encode(SECRET).decode()}
    system = System({"accounts": {ACCOUNT: {"mfaDevices": [device]}}})
    yield stock.client_of(system)
    system.stop()


def test_a_version_is_deleted_with_a_code_only(s3):
    # A code is good for a step before and after its own, and each is taken once.
    step = int(time.time()) // STEP_SECONDS
    s3.create_bucket(Bucket="guarded")
    enabled = {"Status": "Enabled", "MFADelete": "Enabled"}
    s3.put_bucket_versioning(Bucket="guarded", VersioningConfiguration=enabled, MFA=f"{SERIAL} {code_of(step - 1)}")
    assert s3.get_bucket_versioning(Bucket="guarded")["MFADelete"] == "Enabled"
    versions = [s3.put_object(Bucket="guarded", Key="k", Body=body)["VersionId"] for body in (b"1", b"2")]

    for refused in ({}, {"MFA": f"{SERIAL} 000000"}, {"MFA": f"{SERIAL} {code_of(step - 1)}"}):
        with pytest.raises(botocore.exceptions.ClientError) as denied:
            s3.delete_object(Bucket="guarded", Key="k", VersionId=versions[0], **refused)
        assert denied.value.response["Error"]["Code"] == "AccessDenied"
    s3.delete_object(Bucket="guarded", Key="k", VersionId=versions[0], MFA=f"{SERIAL} {code_of(step)}")

    objects = {"Objects": [{"Key": "k", "VersionId": versions[1]}]}
    with pytest.raises(botocore.exceptions.ClientError) as denied:
        s3.delete_objects(Bucket="guarded", Delete=objects)
    assert denied.value.response["Error"]["Code"] == "AccessDenied"
    batch = s3.delete_objects(Bucket="guarded", Delete=objects, MFA=f"{SERIAL} {code_of(step + 1)}")
    assert [each["VersionId"] for each in batch["Deleted"]] == [versions[1]]
