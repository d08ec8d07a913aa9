"""Appending to objects with boto3, as it comes."""

import base64
import os
import zlib

import botocore.exceptions
import pytest

KIBIBYTE = 1024


@pytest.fixture
def bucket(s3, unique):
    name = f"append-{unique}"
    s3.create_bucket(Bucket=name)
    return name


def test_a_log_grows_by_appends_and_has_the_checksum_of_the_whole(s3, bucket):
    content = b""
    for size in (10, 70 * KIBIBYTE, 0, 4 * KIBIBYTE, 4 * KIBIBYTE):
        piece = os.urandom(size)
        answer = s3.put_object(Bucket=bucket, Key="log", Body=piece, WriteOffsetBytes=len(content))
        content += piece
        assert answer["Size"] == len(content)
    checksum = base64.b64encode(zlib.crc32(content).to_bytes(4, "big")).decode()
    assert (answer["ChecksumCRC32"], answer["ChecksumType"]) == (checksum, "FULL_OBJECT")
    read = s3.get_object(Bucket=bucket, Key="log", ChecksumMode="ENABLED")
    assert read["Body"].read() == content
    assert read["ETag"] == answer["ETag"]


def test_an_append_elsewhere_than_at_the_end_is_refused(s3, bucket):
    s3.put_object(Bucket=bucket, Key="log", Body=b"one", WriteOffsetBytes=0)
    for offset in (0, 2, 4):
        with pytest.raises(botocore.exceptions.ClientError) as refused:
            s3.put_object(Bucket=bucket, Key="log", Body=b"two", WriteOffsetBytes=offset)
        assert refused.value.response["Error"]["Code"] == "InvalidWriteOffset"
