"""Encryption and forms as boto3 uses them."""

import os
import urllib.request
import uuid

import pytest
from botocore.exceptions import ClientError

CONTENT = b"the quick brown fox " * 400_000
KEY = bytes(range(32))
OTHER_KEY = bytes(32)


@pytest.fixture
def bucket(s3, unique):
    name = f"sealed-{unique}"
    s3.create_bucket(Bucket=name)
    return name


def test_every_object_says_that_it_is_encrypted(s3, bucket):
    s3.put_object(Bucket=bucket, Key="k", Body=b"x")
    assert s3.head_object(Bucket=bucket, Key="k")["ServerSideEncryption"] == "AES256"


@pytest.mark.parametrize(
    "arguments",
    [
        {"ServerSideEncryption": "AES256"},
        {"ServerSideEncryption": "aws:kms"},
        {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "alias/crm", "BucketKeyEnabled": True},
    ],
)
def test_the_service_encrypts_as_it_is_asked_to(s3, bucket, arguments):
    answer = s3.put_object(Bucket=bucket, Key="k", Body=CONTENT, **arguments)
    assert answer["ServerSideEncryption"] == arguments["ServerSideEncryption"]
    read = s3.get_object(Bucket=bucket, Key="k")
    assert read["ServerSideEncryption"] == arguments["ServerSideEncryption"]
    assert read.get("SSEKMSKeyId", "arn:aws:kms:").startswith("arn:aws:kms:")
    assert read["Body"].read() == CONTENT


def test_a_customers_key_opens_what_it_encrypted(s3, bucket, tmp_path):
    key = {"SSECustomerAlgorithm": "AES256", "SSECustomerKey": KEY}
    file = tmp_path / "file"
    file.write_bytes(CONTENT * 2)
    s3.upload_file(str(file), bucket, "parts", ExtraArgs=key)
    s3.put_object(Bucket=bucket, Key="k", Body=CONTENT, **key)
    assert s3.get_object(Bucket=bucket, Key="k", **key)["Body"].read() == CONTENT
    s3.download_file(bucket, "parts", str(tmp_path / "back"), ExtraArgs=key)
    assert (tmp_path / "back").read_bytes() == CONTENT * 2

    s3.copy_object(
        Bucket=bucket,
        Key="copy",
        CopySource={"Bucket": bucket, "Key": "k"},
        CopySourceSSECustomerAlgorithm="AES256",
        CopySourceSSECustomerKey=KEY,
        ServerSideEncryption="AES256",
    )
    assert s3.get_object(Bucket=bucket, Key="copy")["Body"].read() == CONTENT

    with pytest.raises(ClientError) as without:
        s3.get_object(Bucket=bucket, Key="k")
    with pytest.raises(ClientError) as wrong:
        s3.get_object(Bucket=bucket, Key="k", SSECustomerAlgorithm="AES256", SSECustomerKey=OTHER_KEY)
    assert without.value.response["Error"]["Code"] == "InvalidRequest"
    assert wrong.value.response["Error"]["Code"] == "AccessDenied"


def test_a_bucket_has_a_default_encryption(s3, bucket):
    rule = {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}, "BucketKeyEnabled": True}
    s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": [rule]})
    stored = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    assert stored == [rule]
    assert s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ServerSideEncryption"] == "aws:kms"
    s3.delete_bucket_encryption(Bucket=bucket)
    assert s3.put_object(Bucket=bucket, Key="k", Body=b"x")["ServerSideEncryption"] == "AES256"


def test_a_presigned_form_uploads_with_its_tags(s3, bucket):
    tags = "<Tagging><TagSet><Tag><Key>team</Key><Value>blue + red</Value></Tag></TagSet></Tagging>"
    form = s3.generate_presigned_post(bucket, "form", Fields={"tagging": tags}, Conditions=[{"tagging": tags}])
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
    assert s3.get_object(Bucket=bucket, Key="form")["Body"].read() == b"hello"
    assert s3.get_object_tagging(Bucket=bucket, Key="form")["TagSet"] == [{"Key": "team", "Value": "blue + red"}]


def test_no_plain_content_is_on_the_disk(s3, bucket, system):
    s3.put_object(Bucket=bucket, Key="k", Body=CONTENT)
    s3.put_object(Bucket=bucket, Key="small", Body=CONTENT[:400])
    found = []
    for directory, _names, files in os.walk(os.path.join(system.data_directory, "object-storage")):
        for name in files:
            with open(os.path.join(directory, name), "rb") as file:
                if b"quick brown" in file.read():
                    found.append(name)
    assert found == []
