"""Configurations of buckets with boto3, as it comes."""

import json
import socket

import botocore.exceptions
import pytest

import stock


@pytest.fixture
def bucket(s3, unique):
    name = f"configured-{unique}"
    s3.create_bucket(Bucket=name)
    return name


def members(answer):
    """What an answer says besides its own metadata."""
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


def test_a_website_is_what_was_put(s3, bucket):
    website = {
        "IndexDocument": {"Suffix": "index.html"},
        "ErrorDocument": {"Key": "error.html"},
        "RoutingRules": [{"Condition": {"KeyPrefixEquals": "old/"}, "Redirect": {"ReplaceKeyPrefixWith": "new/"}}],
    }
    s3.put_bucket_website(Bucket=bucket, WebsiteConfiguration=website)
    assert members(s3.get_bucket_website(Bucket=bucket)) == website
    # One without rules: Terraform would plan to remove an empty list of them each time it runs.
    website = {"IndexDocument": {"Suffix": "index.html"}}
    s3.put_bucket_website(Bucket=bucket, WebsiteConfiguration=website)
    assert members(s3.get_bucket_website(Bucket=bucket)) == website
    s3.delete_bucket_website(Bucket=bucket)
    with pytest.raises(botocore.exceptions.ClientError) as missing:
        s3.get_bucket_website(Bucket=bucket)
    assert missing.value.response["Error"]["Code"] == "NoSuchWebsiteConfiguration"


DOCUMENTS = {
    "metrics": ("MetricsConfiguration", {"Filter": {"Prefix": "a/"}}),
    "analytics": ("AnalyticsConfiguration", {"StorageClassAnalysis": {}}),
    "intelligent_tiering": (
        "IntelligentTieringConfiguration",
        {"Status": "Enabled", "Tierings": [{"Days": 90, "AccessTier": "ARCHIVE_ACCESS"}]},
    ),
    "inventory": (
        "InventoryConfiguration",
        {
            "Destination": {"S3BucketDestination": {"Bucket": "arn:aws:s3:::BUCKET", "Format": "CSV"}},
            "IsEnabled": False,
            "IncludedObjectVersions": "Current",
            "OptionalFields": ["Size"],
            "Schedule": {"Frequency": "Daily"},
        },
    ),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_configurations_with_ids_are_listed(s3, bucket, kind):
    member, document = DOCUMENTS[kind]
    document = dict(document)
    if kind == "inventory":
        arn = f"arn:aws:s3:::{bucket}"
        document["Destination"] = {"S3BucketDestination": {"Bucket": arn, "Format": "CSV"}}
    call = {verb: getattr(s3, f"{verb}_bucket_{kind}_configuration") for verb in ("put", "get", "delete")}
    for name in ("one", "two"):
        call["put"](Bucket=bucket, Id=name, **{member: {"Id": name, **document}})
    assert call["get"](Bucket=bucket, Id="one")[member] == {"Id": "one", **document}
    listed = getattr(s3, f"list_bucket_{kind}_configurations")(Bucket=bucket)
    assert [each["Id"] for each in listed[f"{member}List"]] == ["one", "two"]
    assert listed["IsTruncated"] is False
    call["delete"](Bucket=bucket, Id="one")
    with pytest.raises(botocore.exceptions.ClientError) as missing:
        call["get"](Bucket=bucket, Id="one")
    assert missing.value.response["Error"]["Code"] == "NoSuchConfiguration"


def test_acceleration_and_logging(s3, bucket):
    s3.put_bucket_accelerate_configuration(Bucket=bucket, AccelerateConfiguration={"Status": "Enabled"})
    assert s3.get_bucket_accelerate_configuration(Bucket=bucket)["Status"] == "Enabled"
    enabled = {
        "TargetBucket": bucket,
        "TargetPrefix": "logs/",
        "TargetObjectKeyFormat": {"PartitionedPrefix": {"PartitionDateSource": "EventTime"}},
    }
    s3.put_bucket_logging(Bucket=bucket, BucketLoggingStatus={"LoggingEnabled": enabled})
    assert s3.get_bucket_logging(Bucket=bucket)["LoggingEnabled"] == enabled
    s3.put_bucket_logging(Bucket=bucket, BucketLoggingStatus={})
    assert "LoggingEnabled" not in s3.get_bucket_logging(Bucket=bucket)


@pytest.fixture
def s3control(system, monkeypatch):
    """The client of the API that asks at a host of the account, which not every machine resolves below localhost."""
    resolve = socket.getaddrinfo

    def resolve_localhost(host, *arguments, **named):
        return resolve("127.0.0.1" if str(host).endswith(".localhost") else host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_localhost)
    return stock.client_of(system, "s3control", host="localhost")


def test_tags_are_managed_by_the_arn_of_the_bucket(s3, s3control, bucket):
    resource = {"AccountId": "000000000000", "ResourceArn": f"arn:aws:s3:::{bucket}"}
    assert s3control.list_tags_for_resource(**resource)["Tags"] == []
    s3.put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [{"Key": "stage", "Value": "1"}]})
    s3control.tag_resource(**resource, Tags=[{"Key": "team/é", "Value": "red"}])
    both = [{"Key": "stage", "Value": "1"}, {"Key": "team/é", "Value": "red"}]
    assert s3control.list_tags_for_resource(**resource)["Tags"] == both
    assert s3.get_bucket_tagging(Bucket=bucket)["TagSet"] == both
    s3control.untag_resource(**resource, TagKeys=["stage", "team/é"])
    assert s3control.list_tags_for_resource(**resource)["Tags"] == []
    with pytest.raises(botocore.exceptions.ClientError) as missing:
        s3control.list_tags_for_resource(**{**resource, "ResourceArn": "arn:aws:s3:::nowhere"})
    assert missing.value.response["Error"]["Code"] == "NoSuchBucket"


def test_what_all_buckets_of_the_account_block_counts_in_each(s3, s3control, bucket):
    account = {"AccountId": "000000000000"}
    everybody = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{bucket}/*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [everybody]})
    block = {
        "BlockPublicAcls": True,
        "IgnorePublicAcls": False,
        "BlockPublicPolicy": True,
        "RestrictPublicBuckets": False,
    }

    def code_of(call):
        with pytest.raises(botocore.exceptions.ClientError) as refused:
            call()
        return refused.value.response["Error"]["Code"]

    missing = "NoSuchPublicAccessBlockConfiguration"
    assert code_of(lambda: s3control.get_public_access_block(**account)) == missing
    s3control.put_public_access_block(**account, PublicAccessBlockConfiguration=block)
    try:
        assert s3control.get_public_access_block(**account)["PublicAccessBlockConfiguration"] == block
        assert code_of(lambda: s3.put_bucket_policy(Bucket=bucket, Policy=policy)) == "AccessDenied"
        other = {"AccountId": "111122223333", "PublicAccessBlockConfiguration": block}
        assert code_of(lambda: s3control.put_public_access_block(**other)) == "AccessDenied"
    finally:
        s3control.delete_public_access_block(**account)
    assert code_of(lambda: s3control.get_public_access_block(**account)) == missing
    s3.put_bucket_policy(Bucket=bucket, Policy=policy)
