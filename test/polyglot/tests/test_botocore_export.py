"""The exported botocore models, used: clients that botocore makes from them call the system in the documented dialect."""

import os
import subprocess

import botocore.auth
import botocore.config
import botocore.exceptions
import botocore.session
import pytest

from svc_signer import DIALECTS
from system import ROOT

SVC = DIALECTS["svc"]


class Svc4Auth(botocore.auth.SigV4Auth):
    """The public signer with the documented dialect's words in the place of its own."""

    def scope(self, request):
        return f"{self.credentials.access_key}/{self.credential_scope(request)}"

    def credential_scope(self, request):
        return super().credential_scope(request).replace("aws4_request", SVC.terminator)

    def string_to_sign(self, request, canonical_request):
        return super().string_to_sign(request, canonical_request).replace("AWS4-HMAC-SHA256", SVC.algorithm, 1)

    def signature(self, string_to_sign, request):
        key = (SVC.seed + self.credentials.secret_key).encode()
        for part in self.credential_scope(request).split("/"):
            key = self._sign(key, part)
        return self._sign(key, string_to_sign, hex=True)

    def _inject_signature_to_request(self, request, signature):
        super()._inject_signature_to_request(request, signature)
        signed = request.headers["Authorization"]
        del request.headers["Authorization"]
        request.headers["Authorization"] = signed.replace("AWS4-HMAC-SHA256", SVC.algorithm, 1)
        return request

    def _modify_request_before_signing(self, request):
        super()._modify_request_before_signing(request)
        # botocore writes these three with the public prefix, whatever the model says.
        target = request.headers.get("X-Amz-Target")
        del request.headers["X-Amz-Date"]
        set_header(request, SVC.header("date"), request.context["timestamp"])
        if target is not None:
            del request.headers["X-Amz-Target"]
            set_header(request, SVC.header("target"), target)
            set_header(request, "Content-Type", "application/x-svc-json-1.1")
        if self._service_name == "object-storage":
            set_header(request, SVC.header("content-sha256"), self.payload(request))

    def _normalize_url_path(self, path):
        return path if self._service_name == "object-storage" else super()._normalize_url_path(path)


def set_header(request, name, value):
    if name in request.headers:
        del request.headers[name]
    request.headers[name] = value


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The directory that `npm run export` has written."""
    directory = tmp_path_factory.mktemp("export")
    environment = {**os.environ, "PATH": f"{ROOT / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"}
    command = ["node", "gateway/exports/main.ts", "--out", str(directory)]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return directory / "botocore"


@pytest.fixture(scope="session")
def session(models):
    botocore.auth.AUTH_TYPE_MAPS["svc4"] = Svc4Auth
    made = botocore.session.Session()
    made.get_component("data_loader").search_paths.insert(0, str(models))
    return made


@pytest.fixture(scope="session")
def client_for(session, system):
    key = system.credentials()

    def make(name, secret=key["secretAccessKey"]):
        client = session.create_client(
            name,
            endpoint_url=system.urls["gateway"],
            region_name="us-east-1",
            aws_access_key_id=key["accessKeyId"],
            aws_secret_access_key=secret,
            config=botocore.config.Config(retries={"total_max_attempts": 1}),
        )
        client.meta.events.register("before-send", no_public_headers)
        return client

    return make


def no_public_headers(request, **_):
    assert not [name for name in request.headers if name.lower().startswith("x-amz-")]


def test_the_models_are_named_as_the_documents_name_the_apis(session):
    for name, operation in [
        ("customer-profile", "SearchProfiles"),
        ("refactoring-workspace", "CreateRoute"),
        ("event-bus", "PutEvents"),
        ("object-storage", "CompleteMultipartUpload"),
    ]:
        model = session.get_service_model(name)
        assert (model.signing_name, model.signature_version) == (name, "svc4")
        assert operation in model.operation_names
        assert model.operation_model(operation).documentation != ""


def test_every_model_makes_a_client_whose_shapes_resolve(session, client_for):
    for name in ["customer-profile", "refactoring-workspace", "event-bus", "object-storage"]:
        client_for(name)
        model = session.get_service_model(name)
        for shape in model.shape_names:
            resolved = model.shape_for(shape)
            for member in getattr(resolved, "members", {}).values():
                assert member.type_name != ""


def test_profiles_are_kept_and_found(client_for, unique):
    client = client_for("customer-profile")
    domain = f"exported-{unique}"
    client.create_domain(DomainName=domain, DefaultExpirationDays=30, Tags={"team": "shop"})
    made = client.create_profile(DomainName=domain, AccountNumber="4711", FirstName="Zoë", Attributes={"size": "L"})
    found = client.search_profiles(DomainName=domain, KeyName="_account", Values=["4711"])
    assert [(item["ProfileId"], item["Attributes"]) for item in found["Items"]] == [(made["ProfileId"], {"size": "L"})]
    read = client.get_domain(DomainName=domain)
    assert read["CreatedAt"].year >= 2025
    pages = client.get_paginator("list_domains").paginate(PaginationConfig={"PageSize": 1})
    assert domain in [item["DomainName"] for page in pages for item in page["Items"]]
    with pytest.raises(client.exceptions.ResourceNotFoundException) as refusal:
        client.get_domain(DomainName="nowhere")
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404


def test_a_workspace_gets_an_environment(client_for, unique):
    client = client_for("refactoring-workspace")
    made = client.create_environment(Name=f"exported {unique}", NetworkFabricType="NONE", Tags={"team": "shop"})
    assert made["Arn"].startswith("arn:svc:")
    read = client.get_environment(EnvironmentIdentifier=made["EnvironmentId"])
    assert (read["Name"], read["Tags"], read["State"]) == (f"exported {unique}", {"team": "shop"}, "ACTIVE")
    client.tag_resource(ResourceArn=made["Arn"], Tags={"stage": "test"})
    assert client.list_tags_for_resource(ResourceArn=made["Arn"])["Tags"] == {"team": "shop", "stage": "test"}
    with pytest.raises(client.exceptions.ResourceNotFoundException) as refusal:
        client.get_environment(EnvironmentIdentifier="env-0000000000")
    assert refusal.value.response["ResourceId"] == "env-0000000000"


def test_events_are_published_and_rules_listed(client_for, unique):
    client = client_for("event-bus")
    name = f"exported-{unique}"
    bus = client.create_event_bus(Name=name)
    assert bus["EventBusArn"].startswith("arn:svc:") and bus["EventBusArn"].endswith(f":event-bus/{name}")
    client.put_rule(Name="orders", EventBusName=name, EventPattern='{"source": ["shop"]}')
    sent = client.put_events(
        Entries=[{"Source": "shop", "DetailType": "order", "Detail": "{}", "EventBusName": name}, {"Source": "shop"}]
    )
    assert sent["FailedEntryCount"] == 1
    assert [sorted(entry) for entry in sent["Entries"]] == [["EventId"], ["ErrorCode", "ErrorMessage"]]
    pages = client.get_paginator("list_rules").paginate(EventBusName=name, PaginationConfig={"PageSize": 1})
    assert [rule["Name"] for page in pages for rule in page["Rules"]] == ["orders"]
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.describe_rule(Name="nothing", EventBusName=name)


def test_objects_go_up_and_down(client_for, unique):
    client = client_for("object-storage")
    bucket = f"exported-{unique}"
    client.create_bucket(Bucket=bucket)
    key = "a folder/ü b+c.txt"
    put = client.put_object(Bucket=bucket, Key=key, Body=b"the body", ContentType="text/plain", Metadata={"who": "zoe"})
    answer = client.get_object(Bucket=bucket, Key=key, Range="bytes=4-")
    assert (answer["Body"].read(), answer["Metadata"], answer["ETag"]) == (b"body", {"who": "zoe"}, put["ETag"])
    assert answer["LastModified"].tzinfo is not None
    listed = client.list_objects_v2(Bucket=bucket)["Contents"]
    assert [(item["Key"], item["Size"], item["StorageClass"]) for item in listed] == [(key, 8, "STANDARD")]
    deleted = client.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key}]})
    assert [item["Key"] for item in deleted["Deleted"]] == [key]
    with pytest.raises(client.exceptions.NoSuchKey) as refusal:
        client.get_object(Bucket=bucket, Key=key)
    assert refusal.value.response["Error"]["Code"] == "NoSuchKey"


def test_an_object_is_made_of_parts(client_for, unique):
    client = client_for("object-storage")
    bucket = f"exported-parts-{unique}"
    client.create_bucket(Bucket=bucket)
    upload = client.create_multipart_upload(Bucket=bucket, Key="whole")
    bodies = [b"a" * (5 << 20), b"end"]
    where = {"Bucket": bucket, "Key": "whole", "UploadId": upload["UploadId"]}
    parts = [
        {"PartNumber": number, "ETag": client.upload_part(**where, PartNumber=number, Body=body)["ETag"]}
        for number, body in enumerate(bodies, start=1)
    ]
    assert [part["PartNumber"] for part in client.list_parts(**where)["Parts"]] == [1, 2]
    client.complete_multipart_upload(**where, CompleteMultipartUpload={"Parts": parts})
    assert client.get_object(Bucket=bucket, Key="whole")["Body"].read() == b"".join(bodies)


@pytest.mark.parametrize(
    ("name", "call", "code"),
    [
        ("customer-profile", lambda client: client.list_domains(), "InvalidSignatureException"),
        ("refactoring-workspace", lambda client: client.list_environments(), "InvalidSignatureException"),
        ("event-bus", lambda client: client.list_event_buses(), "InvalidSignatureException"),
        ("object-storage", lambda client: client.list_buckets(), "SignatureDoesNotMatch"),
    ],
)
def test_a_wrong_secret_is_refused(client_for, name, call, code):
    with pytest.raises(botocore.exceptions.ClientError) as refusal:
        call(client_for(name, secret="wrong"))
    assert refusal.value.response["Error"]["Code"] == code
    assert refusal.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
