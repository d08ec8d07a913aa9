"""Encryption and forms as boto3 uses them."""

import os
import urllib.request
import uuid

import boto3
import botocore.config
import pytest
from botocore.exceptions import ClientError

CONTENT = b"the quick brown fox " * 400_000
KEY = bytes(range(32))
OTHER_KEY = bytes(32)


@pytest.fixture(scope="module")
def client(system):
    key = system.credentials()
    return boto3.client(
        "s3",
        endpoint_url=system.urls["gateway"],
        region_name="us-east-1",
        aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"],
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture
def bucket(client, unique):
    name = f"sealed-{unique}"
    client.create_bucket(Bucket=name)
    return name


def test_every_object_says_that_it_is_encrypted(client, bucket):
    client.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert client.head_object(Bucket=bucket, Key="k")["ServerSideEncryption"] == "AES256"


@pytest.mark.parametrize(
    "arguments",
    [
        {"ServerSideEncryption": "AES256"},
        {"ServerSideEncryption": "aws:kms"},
        {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "alias/crm", "BucketKeyEnabled": True},
    ],
)
def test_the_service_encrypts_as_it_is_asked_to(client, bucket, arguments):
    answer = client.put_object(Bucket=bucket, Key="k", Body=CONTENT, **arguments)
    assert answer["ServerSideEncryption"] == arguments["ServerSideEncryption"]
    read = client.get_object(Bucket=bucket, Key="k")
    assert read["ServerSideEncryption"] == arguments["ServerSideEncryption"]
    assert read.get("SSEKMSKeyId", "arn:aws:kms:").startswith("arn:aws:kms:")
    assert read["Body"].read() == CONTENT


def test_a_customers_key_opens_what_it_encrypted(client, bucket, tmp_path):
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": KEY}
    file = tmp_path / "file"
    file.write_bytes(CONTENT * 2)
    client.upload_file(str(file), bucket, "parts", ExtraArgs=key)
    client.put_object(Bucket=bucket, Key="k", Body=CONTENT, **key)
    assert client.get_object(Bucket=bucket, Key="k", **key)["Body"].read() == CONTENT
    client.download_file(bucket, "parts", str(tmp_path / "back"), ExtraArgs=key)
    assert (tmp_path / "back").read_bytes() == CONTENT * 2

    client.copy_object(
        Bucket=bucket,
        Key="copy",
        CopySource={"Bucket": bucket, "Key": "k"},
        CopySourceSSECustomerAlgorithm="AES256",
        CopySourceSSECustomerKey=KEY,
        ServerSideEncryption="AES256",
    )
    assert client.get_object(Bucket=bucket, Key="copy")["Body"].read() == CONTENT

    with pytest.raises(ClientError) as without:
        client.get_object(Bucket=bucket, Key="k")
    with pytest.raises(ClientError) as wrong:
        client.get_object(Bucket=bucket, Key="k", SSECustomerAlgorithm="AES256", SSECustomerKey=OTHER_KEY)
    assert without.value.response["Error"]["Code"] == "InvalidRequest"
    assert wrong.value.response["Error"]["Code"] == "AccessDenied"


def test_a_bucket_has_a_default_encryption(client, bucket):
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}, "BucketKeyEnabled": True}
    client.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
    stored = client.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    assert stored == [rule]
    assert client.put_object(Bucket=bucket, Key="k", Body=b"x")["ServerSideEncryption"] == "aws:kms"
    client.delete_bucket_encryption(Bucket=bucket)
    assert client.put_object(Bucket=bucket, Key="k", Body=b"x")["ServerSideEncryption"] == "AES256"


def test_a_presigned_form_uploads_with_its_tags(client, bucket):
    tags = "<Tagging><TagSet><Tag><Key>team</Key><Value>blue + red</Value></Tag></TagSet></Tagging>"
    form = client.generate_presigned_post(bucket, "form", Fields={"tagging": tags}, Conditions=[{"tagging": tags}])
    boundary = uuid.uuid4().hex
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in form["fields"].items()
    ]
    file = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nhello\r\n--{boundary}--\r\n'
    request = urllib.request.Request(
        form["url"],
        data=("".join(parts) + file).encode(),
        headers={"Content-Type": f"multipart/form-data; boundary={boundary}"},
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 204
    assert client.get_object(Bucket=bucket, Key="form")["Body"].read() == b"hello"
    assert client.get_object_tagging(Bucket=bucket, Key="form")["TagSet"] == [{"Key": "team", "Value": "blue + red"}]


def test_no_plain_content_is_on_the_disk(client, bucket, system):
    client.put_object(Bucket=bucket, Key="k", Body=CONTENT)
    client.put_object(Bucket=bucket, Key="small", Body=CONTENT[:400])
    found = []
    for directory, _names, files in os.walk(os.path.join(system.data_directory, "object-storage")):
        for name in files:
            with open(os.path.join(directory, name), "rb") as file:
                if b"quick brown" in file.read():
                    found.append(name)
    assert found == []
