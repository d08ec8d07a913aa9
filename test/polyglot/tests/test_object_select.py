"""Queries of objects with boto3, as it comes."""

import botocore.exceptions
import pytest


def events_of(s3, bucket, key, expression, source):
    answer = s3.select_object_content(
        Bucket=bucket,
        Key=key,
        Expression=expression,
        ExpressionType="SQL",
        InputSerialization=source,
        OutputSerialization={"CSV": {}},
    )
    return list(answer["Payload"])


def test_a_query_of_separated_values_has_records_figures_and_an_end(s3, unique):
    bucket = f"select-{unique}"
    s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket=bucket, Key="people.csv", Body=b"id,name\n1,Ann\n2,Bob\n")
    source = {"CSV": {"FileHeaderInfo": "USE"}}
    figures = {"BytesScanned": 20, "BytesProcessed": 20, "BytesReturned": 4}
    assert events_of(s3, bucket, "people.csv", "SELECT name FROM S3Object s WHERE s.id = '2'", source) == [
        {"Records": {"Payload": b"Bob\n"}},
        {"Stats": {"Details": figures}},
        {"End": {}},
    ]
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        events_of(s3, bucket, "people.csv", "SELECT age FROM S3Object", source)
    assert refused.value.response["Error"]["Code"] == "MissingHeaders"
