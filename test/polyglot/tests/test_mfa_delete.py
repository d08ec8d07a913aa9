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
FIRST = f"arn:aws:iam::{ACCOUNT}:mfa/first"
SECOND = f"arn:aws:iam::{ACCOUNT}:mfa/second"
SECRETS = {FIRST: b"12345678901234567890", SECOND: b"09876543210987654321"}
STEP_SECONDS = 30


def mfa_of(serial: str, step: int) -> str:
    """A device's serial number and its code by RFC 6238 of a step of 30 seconds."""
    digest = hmac.new(SECRETS[serial], struct.pack(">Q", step), hashlib.sha1).digest()
    [number] = struct.unpack_from(">I", digest, digest[-1] & 15)
    return f"{serial} {(number & 0x7FFFFFFF) % 1_000_000:06d}"


@pytest.fixture(scope="module")
def s3():
    devices = [{"serial": serial, "secret": base64.b32encode(secret).decode()} for serial, secret in SECRETS.items()]
    system = System({"accounts": {ACCOUNT: {"mfaDevices": devices}}})
    yield stock.client_of(system)
    system.stop()


def test_a_version_is_deleted_with_a_code_only(s3):
    # A code is good for a step before and after its own, and each is taken once. Those of this step and the next one
    # stay good when the next one begins meanwhile.
    step = int(time.time()) // STEP_SECONDS
    s3.create_bucket(Bucket="guarded")
    enabled = {"Status": "Enabled", "MFADelete": "Enabled"}
    s3.put_bucket_versioning(Bucket="guarded", VersioningConfiguration=enabled, MFA=mfa_of(FIRST, step))
    assert s3.get_bucket_versioning(Bucket="guarded")["MFADelete"] == "Enabled"
    versions = [s3.put_object(Bucket="guarded", Key="k", Body=body)["VersionId"] for body in (b"1", b"2")]

    for refused in ({}, {"MFA": f"{FIRST} 000000"}, {"MFA": mfa_of(FIRST, step)}):
        with pytest.raises(botocore.exceptions.ClientError) as denied:
            s3.delete_object(Bucket="guarded", Key="k", VersionId=versions[0], **refused)
        assert denied.value.response["Error"]["Code"] == "AccessDenied"
    s3.delete_object(Bucket="guarded", Key="k", VersionId=versions[0], MFA=mfa_of(FIRST, step + 1))

    objects = {"Objects": [{"Key": "k", "VersionId": versions[1]}]}
    with pytest.raises(botocore.exceptions.ClientError) as denied:
        s3.delete_objects(Bucket="guarded", Delete=objects)
    assert denied.value.response["Error"]["Code"] == "AccessDenied"
    batch = s3.delete_objects(Bucket="guarded", Delete=objects, MFA=mfa_of(SECOND, step))
    assert [each["VersionId"] for each in batch["Deleted"]] == [versions[1]]
