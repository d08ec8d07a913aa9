"""Versions and the checksums of uploads in parts with boto3, as it comes."""

import base64
import os
import zlib

import botocore.exceptions
import pytest
from boto3.s3.transfer import TransferConfig

MEBIBYTE = 1024 * 1024


@pytest.fixture
def bucket(s3, unique):
    name = f"versions-{unique}"
    s3.create_bucket(Bucket=name)
    return name


def test_a_deleted_object_is_brought_back_by_its_version(s3, bucket):
    s3.put_object(Bucket=bucket, Key="a", Body=b"before")
    s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    assert s3.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    first = s3.put_object(Bucket=bucket, Key="a", Body=b"first")["VersionId"]
    second = s3.put_object(Bucket=bucket, Key="a", Body=b"second")["VersionId"]
    marker = s3.delete_object(Bucket=bucket, Key="a")
    assert marker["DeleteMarker"] is True

    with pytest.raises(s3.exceptions.NoSuchKey) as missing:
        s3.get_object(Bucket=bucket, Key="a")
    assert missing.value.response["ResponseMetadata"]["HTTPHeaders"]["x-amz-delete-marker"] == "true"
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        s3.get_object(Bucket=bucket, Key="a", VersionId=marker["VersionId"])
    assert refused.value.response["Error"]["Code"] == "MethodNotAllowed"

    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1})
    versions = [(each["VersionId"], each["IsLatest"]) for page in pages for each in page.get("Versions", [])]
    assert versions == [(second, False), (first, False), ("null", False)]

    s3.delete_object(Bucket=bucket, Key="a", VersionId=marker["VersionId"])
    assert s3.get_object(Bucket=bucket, Key="a")["Body"].read() == b"second"
    s3.copy_object(Bucket=bucket, Key="a", CopySource={"Bucket": bucket, "Key": "a", "VersionId": first})
    assert s3.get_object(Bucket=bucket, Key="a")["Body"].read() == b"first"

    listed = s3.list_object_versions(Bucket=bucket)["Versions"]
    objects = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in listed]
    assert "Errors" not in s3.delete_objects(Bucket=bucket, Delete={"Objects": objects})
    s3.delete_bucket(Bucket=bucket)


def test_a_file_is_uploaded_in_parts_with_the_checksum_of_the_whole(s3, bucket, tmp_path):
    file = tmp_path / "film"
    file.write_bytes(os.urandom(11 * MEBIBYTE))
    checksum = base64.b64encode(zlib.crc32(file.read_bytes()).to_bytes(4, "big")).decode()
    config = TransferConfig(multipart_threshold=5 * MEBIBYTE, multipart_chunksize=5 * MEBIBYTE)
    s3.upload_file(str(file), bucket, "film", ExtraArgs={"ChecksumCRC32": checksum}, Config=config)
    head = s3.head_object(Bucket=bucket, Key="film", ChecksumMode="ENABLED")
    assert (head["ChecksumCRC32"], head["ChecksumType"]) == (checksum, "FULL_OBJECT")
