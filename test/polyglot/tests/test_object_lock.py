"""Object lock with boto3, as it comes."""

import datetime

import botocore.exceptions
import pytest


def refusal(call, **arguments):
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(**arguments)
    answer = refused.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


def test_a_retained_version_is_kept_and_a_released_one_goes(s3, unique):
    bucket = f"lock-{unique}"
    s3.create_bucket(Bucket=bucket, ObjectLockEnabledForBucket=True)
    until = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0) + datetime.timedelta(hours=1)
    put = s3.put_object(
        Bucket=bucket, Key="a", Body=b"1", ObjectLockMode="GOVERNANCE", ObjectLockRetainUntilDate=until
    )
    version = {"Bucket": bucket, "Key": "a", "VersionId": put["VersionId"]}
    assert s3.get_object_retention(**version)["Retention"] == {"Mode": "GOVERNANCE", "RetainUntilDate": until}
    assert s3.head_object(**version)["ObjectLockMode"] == "GOVERNANCE"
    assert refusal(s3.delete_object, **version) == ("AccessDenied", 403)
    shorter = {"Mode": "GOVERNANCE", "RetainUntilDate": until - datetime.timedelta(minutes=30)}
    assert refusal(s3.put_object_retention, **version, Retention=shorter) == ("AccessDenied", 403)
    s3.put_object_retention(**version, Retention=shorter, BypassGovernanceRetention=True)

    s3.put_object_legal_hold(**version, LegalHold={"Status": "ON"})
    assert refusal(s3.delete_object, **version, BypassGovernanceRetention=True) == ("AccessDenied", 403)
    s3.put_object_legal_hold(**version, LegalHold={"Status": "OFF"})
    s3.delete_object(**version, BypassGovernanceRetention=True)
    s3.delete_bucket(Bucket=bucket)


def test_a_bucket_without_a_lock_says_so(s3, unique):
    bucket = f"open-{unique}"
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="a", Body=b"1")
    missing = ("ObjectLockConfigurationNotFoundError", 404)
    assert refusal(s3.get_object_lock_configuration, Bucket=bucket) == missing
    assert refusal(s3.get_object_retention, Bucket=bucket, Key="a") == ("InvalidRequest", 400)
    enabled = {"ObjectLockEnabled": "Enabled"}
    invalid = ("InvalidBucketState", 409)
    assert refusal(s3.put_object_lock_configuration, Bucket=bucket, ObjectLockConfiguration=enabled) == invalid
