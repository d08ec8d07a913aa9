"""Operations of object storage that boto3 knows and the contract does not: refused by name, and nothing is changed."""

import botocore.exceptions
import pytest

import stock

KEY = "kept"
TABLE_BUCKET = "arn:aws:s3tables:us-east-1:000000000000:bucket/tables"
MANAGED_KEY = "arn:aws:kms:us-east-1:000000000000:key/11111111-1111-1111-1111-111111111111"
JOURNAL = {"RecordExpiration": {"Expiration": "DISABLED"}}
DISABLED = {"ConfigurationState": "DISABLED"}

OPERATIONS = {
    "create_session": {},
    "get_bucket_abac": {},
    "put_bucket_abac": {"AbacStatus": {"Status": "Enabled"}},
    "create_bucket_metadata_configuration": {"MetadataConfiguration": {"JournalTableConfiguration": JOURNAL}},
    "get_bucket_metadata_configuration": {},
    "delete_bucket_metadata_configuration": {},
    "create_bucket_metadata_table_configuration": {
        "MetadataTableConfiguration": {
            "S3TablesDestination": {"TableBucketArn": TABLE_BUCKET, "TableName": "objects"}
        },
    },
    "get_bucket_metadata_table_configuration": {},
    "delete_bucket_metadata_table_configuration": {},
    "update_bucket_metadata_annotation_table_configuration": {"AnnotationTableConfiguration": DISABLED},
    "update_bucket_metadata_inventory_table_configuration": {"InventoryTableConfiguration": DISABLED},
    "update_bucket_metadata_journal_table_configuration": {"JournalTableConfiguration": JOURNAL},
    "put_object_annotation": {"Key": KEY, "AnnotationName": "note", "AnnotationPayload": b"a note"},
    "get_object_annotation": {"Key": KEY, "AnnotationName": "note"},
    "list_object_annotations": {"Key": KEY},
    "delete_object_annotation": {"Key": KEY, "AnnotationName": "note"},
    "update_object_encryption": {"Key": KEY, "ObjectEncryption": {"SSEKMS": {"KMSKeyArn": MANAGED_KEY}}},
}


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        ("scheduler", "list_schedules"),
        ("pipes", "list_pipes"),
        ("schemas", "list_registries"),
        ("dynamodb", "list_tables"),
        ("sns", "list_topics"),
    ],
)
def test_a_service_that_is_not_here_is_named_in_a_refusal_that_its_client_reads(system, service, operation):
    with pytest.raises(botocore.exceptions.ClientError, match=f'its service is "{service}", expected is profile or'):
        getattr(stock.client_of(system, service), operation)()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_is_refused_and_changes_nothing(s3, unique, operation):
    bucket = f"refused-{unique}"
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key=KEY, Body=b"content")
    with pytest.raises(botocore.exceptions.ClientError) as refusal:
        getattr(s3, operation)(Bucket=bucket, **OPERATIONS[operation])
    assert refusal.value.response["Error"]["Code"] == "NotImplemented"
    assert s3.get_object(Bucket=bucket, Key=KEY)["Body"].read() == b"content"
