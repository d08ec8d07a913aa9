"""The gateway over plain HTTP: the documented dialect with our own Python signer, the public one with boto3."""

import http.client
import urllib.parse

import botocore.exceptions
import pytest

import stock
from svc_signer import DIALECTS, Signer


@pytest.fixture(scope="session")
def address(system):
    return urllib.parse.urlsplit(system.urls["gateway"]).netloc


@pytest.fixture(scope="session")
def signer(system):
    key = system.credentials()
    return Signer(DIALECTS["svc"], key["accessKeyId"], key["secretAccessKey"], "us-east-1", "object-storage")


@pytest.fixture
def bucket(address, signer, unique):
    name = f"gateway-{unique}"
    status, _, _ = send(address, signer.header("PUT", address, f"/{name}"))
    assert status == 200
    return name


def send(address, request, body=b""):
    """Sends a signed request; returns status, headers and body."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        target = request["path"] + (f"?{request['query']}" if request["query"] else "")
        connection.request(request["method"], target, body=body or None, headers=request["headers"])
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def test_an_object_goes_up_and_down_in_the_documented_dialect(address, signer, bucket):
    path = f"/{bucket}/ü b+c.txt"
    headers = {"content-type": "text/plain", "x-svc-meta-who": "zoe"}
    status, _, _ = send(address, signer.header("PUT", address, path, headers=headers, body=b"the body"), b"the body")
    assert status == 200
    status, answered, body = send(address, signer.header("GET", address, path))
    assert (status, body, answered["x-svc-meta-who"]) == (200, b"the body", "zoe")
    assert not [name for name in answered if name.lower().startswith("x-amz-")]


def test_signed_chunks_are_put(address, signer, bucket):
    request = signer.chunks("PUT", address, f"/{bucket}/chunks", [b"a" * 65536, b"b" * 17])
    status, _, _ = send(address, request, request["wire"])
    assert status == 200
    _, _, body = send(address, signer.header("GET", address, f"/{bucket}/chunks"))
    assert body == b"a" * 65536 + b"b" * 17


def test_a_changed_chunk_stores_nothing(address, signer, bucket):
    request = signer.chunks("PUT", address, f"/{bucket}/changed", [b"a" * 65536, b"b" * 17])
    status, _, body = send(address, request, request["wire"].replace(b"b" * 17, b"c" * 17))
    assert status == 403 and b"<Code>SignatureDoesNotMatch</Code>" in body
    status, _, _ = send(address, signer.header("GET", address, f"/{bucket}/changed"))
    assert status == 404


def test_a_presigned_link_needs_no_headers(address, signer, bucket):
    send(address, signer.header("PUT", address, f"/{bucket}/link", body=b"linked"), b"linked")
    status, _, body = send(address, signer.presigned("GET", address, f"/{bucket}/link", expires=60))
    assert (status, body) == (200, b"linked")
    wrong = signer.presigned("GET", address, f"/{bucket}/link", expires=60)
    status, _, body = send(address, {**wrong, "path": f"/{bucket}/other"})
    assert status == 403 and b"<Code>SignatureDoesNotMatch</Code>" in body


@pytest.fixture(scope="session")
def client_of(system):
    config = {"retries": {"total_max_attempts": 1}, "s3": {"addressing_style": "path"}}
    return lambda name: stock.client_of(system, name, **config)


def test_boto3_stores_objects(client_of, bucket):
    client = client_of("s3")
    client.put_object(Bucket=bucket, Key="boto/ü b+c", Body=b"from boto3", Metadata={"who": "zoe"})
    answer = client.get_object(Bucket=bucket, Key="boto/ü b+c")
    assert (answer["Body"].read(), answer["Metadata"]) == (b"from boto3", {"who": "zoe"})
    assert [item["Key"] for item in client.list_objects_v2(Bucket=bucket)["Contents"]] == ["boto/ü b+c"]
    with pytest.raises(botocore.exceptions.ClientError) as refusal:
        client.get_object(Bucket=bucket, Key="nothing")
    assert refusal.value.response["Error"]["Code"] == "NoSuchKey"


def test_boto3_uploads_in_parts(client_of, bucket, tmp_path):
    client = client_of("s3")
    content = bytes(range(256)) * 65536
    (tmp_path / "up").write_bytes(content)
    client.upload_file(str(tmp_path / "up"), bucket, "parts")
    client.download_file(bucket, "parts", str(tmp_path / "down"))
    assert (tmp_path / "down").read_bytes() == content


def test_boto3_publishes_events(client_of):
    answer = client_of("events").put_events(Entries=[{"Source": "shop", "DetailType": "order", "Detail": "{}"}])
    assert answer["FailedEntryCount"] == 0 and len(answer["Entries"]) == 1


def test_boto3_keeps_profiles(client_of, unique):
    client = client_of("customer-profiles")
    client.create_domain(DomainName=f"boto-{unique}", DefaultExpirationDays=30)
    made = client.create_profile(DomainName=f"boto-{unique}", AccountNumber="4711", FirstName="Zoë")
    found = client.search_profiles(DomainName=f"boto-{unique}", KeyName="_account", Values=["4711"])
    assert [item["ProfileId"] for item in found["Items"]] == [made["ProfileId"]]


def test_boto3_asks_for_matches(client_of, unique):
    client = client_of("customer-profiles")
    schedule = {"DayOfTheWeek": "SUNDAY", "Time": "03:30"}
    domain = {"DomainName": f"match-{unique}", "DefaultExpirationDays": 30}
    made = client.create_domain(**domain, Matching={"Enabled": True, "JobSchedule": schedule})
    assert made["Matching"]["JobSchedule"] == schedule
    answer = client.get_matches(DomainName=f"match-{unique}", MaxResults=10)
    assert (answer["PotentialMatches"], answer["Matches"]) == (0, [])
    [job] = client.list_identity_resolution_jobs(DomainName=f"match-{unique}")["IdentityResolutionJobsList"]
    shown = client.get_identity_resolution_job(DomainName=f"match-{unique}", JobId=job["JobId"])
    assert (shown["Status"], shown["JobStartTime"].strftime("%A %H:%M")) == ("PENDING", "Sunday 03:30")
    preview = client.get_auto_merging_preview(
        DomainName=f"match-{unique}",
        Consolidation={"MatchingAttributesList": [["EmailAddress"]]},
        ConflictResolution={"ConflictResolvingModel": "RECENCY"},
    )
    assert preview["NumberOfMatchesInSample"] == 0
    client.update_domain(DomainName=f"match-{unique}", Matching={"Enabled": False})
    with pytest.raises(botocore.exceptions.ClientError) as refusal:
        client.get_matches(DomainName=f"match-{unique}")
    assert refusal.value.response["Error"]["Code"] == "BadRequestException"


def test_boto3_makes_environments(client_of, unique):
    client = client_of("migration-hub-refactor-spaces")
    made = client.create_environment(Name=f"boto {unique}", NetworkFabricType="NONE")
    assert client.get_environment(EnvironmentIdentifier=made["EnvironmentId"])["Name"] == f"boto {unique}"
