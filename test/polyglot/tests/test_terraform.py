"""The requests of Terraform's AWS provider and of the S3 backend of Terraform and OpenTofu, sent with boto3.

The provider compares what it has put with what it reads, so a resource whose answer differs is changed in each run.
"""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess

import botocore.exceptions
import pytest

import stock
from system import ROOT

ACCOUNT = "000000000000"
PAGE = ROOT / "docs" / "how-to" / "terraform.md"
TOOL = shutil.which("terraform") or shutil.which("tofu")
SECONDS_MAX = 60


@pytest.fixture
def bucket(s3, unique):
    """A bucket as the provider makes it, with tags from the beginning; ready to be replicated, and for logs."""
    name = f"planned-{unique}"
    tags = [{"Key": "Name", "Value": "planned"}]
    s3.create_bucket(Bucket=name, CreateBucketConfiguration={"Tags": tags})
    assert s3.get_bucket_tagging(Bucket=name)["TagSet"] == tags
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def code_of(call, **arguments):
    with pytest.raises(botocore.exceptions.ClientError) as refused:
        call(**arguments)
    return refused.value.response["Error"]["Code"]


#: What each read of `aws_s3_bucket` must end with where nothing is configured; others mean that the plan fails.
UNSET = {
    "get_bucket_policy": "NoSuchBucketPolicy",
    "get_bucket_cors": "NoSuchCORSConfiguration",
    "get_bucket_website": "NoSuchWebsiteConfiguration",
    "get_bucket_lifecycle_configuration": "NoSuchLifecycleConfiguration",
    "get_bucket_replication": "ReplicationConfigurationNotFoundError",
    "get_object_lock_configuration": "ObjectLockConfigurationNotFoundError",
    "get_public_access_block": "NoSuchPublicAccessBlockConfiguration",
}


def test_a_bucket_is_read_where_nothing_is_configured(s3, bucket):
    for name, code in UNSET.items():
        assert code_of(getattr(s3, name), Bucket=bucket) == code
    for name in ("acl", "accelerate_configuration", "request_payment", "logging", "encryption", "location"):
        getattr(s3, f"get_bucket_{name}")(Bucket=bucket)


def rule(**members):
    return {"ID": "one", "Status": "Enabled", **members}


def replication(**members):
    to = {"Bucket": "arn:aws:s3:::BUCKET", **members.pop("Destination", {})}
    return {"Role": f"arn:aws:iam::{ACCOUNT}:role/copier", "Rules": [rule(Destination=to, **members)]}


def encryption(**members):
    return {"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, **members}]}


DOCUMENTS = [
    # operation, member of the request, member of the answer if it is one, document
    *(
        ("lifecycle_configuration", "LifecycleConfiguration", None, {"Rules": rules})
        for rules in (
            [rule(Filter={}, Expiration={"Days": 30})],
            [rule(Filter={"Prefix": ""}, AbortIncompleteMultipartUpload={"DaysAfterInitiation": 7})],
            [rule(Prefix="logs/", Transitions=[{"Days": 0, "StorageClass": "INTELLIGENT_TIERING"}])],
            [
                rule(
                    Filter={"And": {"Prefix": "", "Tags": [{"Key": "k", "Value": "v"}]}},
                    NoncurrentVersionExpiration={"NoncurrentDays": 3, "NewerNoncurrentVersions": 2},
                    NoncurrentVersionTransitions=[{"NoncurrentDays": 2, "StorageClass": "GLACIER"}],
                ),
                {**rule(Filter={"ObjectSizeGreaterThan": 0}, Expiration={"Days": 1}), "ID": "another"},
            ],
            [rule(Filter={}, Expiration={"ExpiredObjectDeleteMarker": True})],
        )
    ),
    *(
        ("encryption", "ServerSideEncryptionConfiguration", "ServerSideEncryptionConfiguration", document)
        for document in (
            encryption(BucketKeyEnabled=False),
            encryption(BucketKeyEnabled=True, BlockedEncryptionTypes={"EncryptionType": ["SSE-C"]}),
            encryption(BucketKeyEnabled=False, BlockedEncryptionTypes={"EncryptionType": ["NONE"]}),
        )
    ),
    *(
        ("website", "WebsiteConfiguration", None, document)
        for document in (
            {"IndexDocument": {"Suffix": "index.html"}, "ErrorDocument": {"Key": "error.html"}},
            {"RedirectAllRequestsTo": {"HostName": "example.com", "Protocol": "https"}},
        )
    ),
    *(
        ("logging", "BucketLoggingStatus", None, {"LoggingEnabled": {"TargetBucket": "BUCKET", **document}})
        for document in (
            {"TargetPrefix": "log/"},
            {"TargetPrefix": "", "TargetObjectKeyFormat": {"PartitionedPrefix": {"PartitionDateSource": "EventTime"}}},
        )
    ),
    *(
        ("replication", "ReplicationConfiguration", "ReplicationConfiguration", document)
        for document in (
            replication(Prefix="", Destination={"StorageClass": "STANDARD"}),
            replication(Priority=0, Filter={"Prefix": ""}, DeleteMarkerReplication={"Status": "Enabled"}),
            replication(
                Priority=3,
                Filter={"And": {"Prefix": "a/", "Tags": [{"Key": "k", "Value": "v"}]}},
                DeleteMarkerReplication={"Status": "Disabled"},
            ),
        )
    ),
    ("logging", "BucketLoggingStatus", None, {}),
    ("cors", "CORSConfiguration", None, {"CORSRules": [{"AllowedMethods": ["PUT"], "AllowedOrigins": [""]}]}),
    ("ownership_controls", "OwnershipControls", "OwnershipControls", {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}),
    ("notification_configuration", "NotificationConfiguration", None, {"EventBridgeConfiguration": {}}),
]


def test_what_is_put_is_read(s3, bucket, unique):
    other = f"target-{unique}"
    s3.create_bucket(Bucket=other)
    s3.put_bucket_versioning(Bucket=other, VersioningConfiguration={"Status": "Enabled"})
    for name, member, answered, template in DOCUMENTS:
        document = json.loads(json.dumps(template).replace("BUCKET", other))
        getattr(s3, f"put_bucket_{name}")(Bucket=bucket, **{member: document})
        answer = getattr(s3, f"get_bucket_{name}")(Bucket=bucket)
        del answer["ResponseMetadata"]
        # Terraform asks for the least size of a transition apart from the rules.
        answer.pop("TransitionDefaultMinimumObjectSize", None)
        assert (answer if answered is None else answer[answered]) == document


def test_a_state_is_locked_by_an_object(s3, bucket):
    """The S3 backend with `use_lockfile`: a second run finds the lock, and a workspace is a prefix."""

    def put(key, content, **more):
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        s3.put_object(
            Bucket=bucket,
            Key=key,
            Body=content,
            ContentType="application/json",
            ChecksumSHA256=digest,
            ServerSideEncryption="AES256",
            **more,
        )

    state, lock = "env:/staging/terraform.tfstate", "env:/staging/terraform.tfstate.tflock"
    assert code_of(s3.head_object, Bucket=bucket, Key=state) == "404"
    put(lock, b'{"ID":"first"}', IfNoneMatch="*")
    assert code_of(put, key=lock, content=b'{"ID":"second"}', IfNoneMatch="*") == "PreconditionFailed"
    put(state, b'{"version":4}')
    assert s3.get_object(Bucket=bucket, Key=state, ChecksumMode="ENABLED")["Body"].read() == b'{"version":4}'
    s3.delete_object(Bucket=bucket, Key=lock)
    assert [found["Key"] for found in s3.list_objects_v2(Bucket=bucket, Prefix="env:/")["Contents"]] == [state]
    put(lock, b'{"ID":"second"}', IfNoneMatch="*")


#: A resource that Terraform and OpenTofu have without a provider.
WORD = """
variable "word" { default = "one" }
resource "terraform_data" "word" { input = var.word }
output "word" { value = terraform_data.word.output }
"""


@pytest.mark.skipif(TOOL is None, reason="neither Terraform nor OpenTofu is installed")
def test_the_backend_of_the_page_keeps_states_and_locks_them(s3, system, environment, tmp_path):
    bucket, key, lock_id = "terraform-state", "shop/terraform.tfstate", "3f2b8c10-7f0e-4f0b-9d55-5b1f0d3c6a21"
    [backend] = re.findall(r"```hcl\n(terraform \{.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "main.tf").write_text(backend.replace("http://localhost:8080", system.urls["gateway"]) + WORD)
    own = {"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.devnull, "TF_IN_AUTOMATION": "1"}
    environment = {name: value for name, value in environment.items() if name != "AWS_ENDPOINT_URL"} | own

    def run(*command, status=0):
        finished = subprocess.run(
            [TOOL, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX
        )
        assert finished.returncode == status, finished.stdout + finished.stderr
        return finished.stdout + finished.stderr

    def kept():
        return [found["Key"] for found in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]

    s3.create_bucket(Bucket=bucket)
    run("init", "-input=false")
    run("apply", "-auto-approve")
    run("plan", "-detailed-exitcode")
    run("apply", "-auto-approve", "-var=word=two")
    assert json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())["outputs"]["word"]["value"] == "two"

    held = {"ID": lock_id, "Operation": "OperationTypeApply", "Who": "ada@shop", "Path": f"{bucket}/{key}"}
    s3.put_object(Bucket=bucket, Key=f"{key}.tflock", Body=json.dumps(held))
    assert lock_id in run("apply", "-auto-approve", status=1)
    run("force-unlock", "-force", lock_id)
    run("workspace", "new", "stage")
    run("apply", "-auto-approve", "-var=word=three")
    assert kept() == [f"env:/stage/{key}", key]
    run("destroy", "-auto-approve")
    run("workspace", "select", "default")
    assert run("output", "-raw", "word") == "two"
    run("workspace", "delete", "stage")
    assert kept() == [key]


def test_a_bus_is_replaced_as_the_provider_does(system, unique):
    events = stock.client_of(system, "events")
    name = f"planned-{unique}"
    log = {"IncludeDetail": "NONE", "Level": "ERROR"}
    arn = events.create_event_bus(Name=name, Description="first", LogConfig=log)["EventBusArn"]
    events.put_permission(EventBusName=name, Action="events:PutEvents", Principal="111122223333", StatementId="shop")
    [statement] = json.loads(events.describe_event_bus(Name=name)["Policy"])["Statement"]
    assert (statement["Sid"], statement["Resource"]) == ("shop", arn)
    # A block that is no longer there is left out, and a description is emptied.
    events.update_event_bus(Name=name, Description="")
    read = events.describe_event_bus(Name=name)
    assert (read.get("LogConfig"), read.get("Description", "")) == (None, "")
    events.remove_permission(EventBusName=name, StatementId="shop")
    assert "Policy" not in events.describe_event_bus(Name=name)
    events.delete_event_bus(Name=name)
    assert code_of(events.describe_event_bus, Name=name) == "ResourceNotFoundException"


def matching(bucket, model, source=None):
    """The blocks of a domain: `source_name` is left out where it is empty."""
    resolution = {"ConflictResolvingModel": model, **({"SourceName": source} if source else {})}
    exporting = {"S3Exporting": {"S3BucketName": bucket, "S3KeyName": f"{model.lower()}/"}}
    return {
        "Matching": {
            "Enabled": True,
            "JobSchedule": {"DayOfTheWeek": "FRIDAY", "Time": "04:30"},
            "AutoMerging": {
                "Enabled": True,
                "Consolidation": {"MatchingAttributesList": [["EmailAddress", "PhoneNumber"], ["AccountNumber"]]},
                "ConflictResolution": resolution,
                "MinAllowedConfidenceScoreForMerging": 0.7,
            },
        },
        "RuleBasedMatching": {
            "Enabled": True,
            "MatchingRules": [{"Rule": ["AccountNumber"]}, {"Rule": ["Address.City", "Address.Country"]}],
            "MaxAllowedRuleLevelForMerging": 2,
            "MaxAllowedRuleLevelForMatching": 2,
            "AttributeTypesSelector": {
                "AttributeMatchingModel": "MANY_TO_MANY",
                "Address": ["Address"],
                "PhoneNumber": ["PhoneNumber", "MobilePhoneNumber"],
                "EmailAddress": ["EmailAddress"],
            },
            "ConflictResolution": resolution,
            "ExportingConfig": exporting,
        },
    }


def shared(sent, read):
    """Of what is read the members that were sent: a domain has a status and times, too."""
    if isinstance(sent, dict):
        return {name: shared(value, read.get(name)) for name, value in sent.items()}
    return read


def test_a_domain_and_a_profile_are_read_as_they_were_put(system, s3, bucket, unique):
    profiles = stock.client_of(system, "customer-profiles")
    domain = {
        "DomainName": f"planned-{unique}",
        "DefaultExpirationDays": 200,
        "DeadLetterQueueUrl": f"https://sqs.us-east-1.amazonaws.com/{ACCOUNT}/dead",
        **matching(bucket, "SOURCE", "shop"),
    }
    profiles.create_domain(**domain, Tags={"Name": "planned"})
    read = profiles.get_domain(DomainName=domain["DomainName"])
    assert (shared(domain, read), read["Tags"]) == (domain, {"Name": "planned"})
    # A URL that is no longer there is emptied.
    changed = {**domain, "DefaultExpirationDays": 300, **matching(bucket, "RECENCY")}
    profiles.update_domain(**{**changed, "DeadLetterQueueUrl": ""})
    read = profiles.get_domain(DomainName=domain["DomainName"])
    del changed["DeadLetterQueueUrl"]
    assert (shared(changed, read), read.get("DeadLetterQueueUrl")) == (changed, None)

    # A profile is read by a search, and members that are no longer there are emptied.
    profile = {"FirstName": "Ada", "EmailAddress": "ada@shop.example", "Address": {"City": "Lyon", "Country": "France"}}
    named = {"DomainName": domain["DomainName"]}
    named["ProfileId"] = profiles.create_profile(**named, **profile, Attributes={"tier": "gold"})["ProfileId"]

    def found():
        asked = {"DomainName": domain["DomainName"], "KeyName": "_profileId", "Values": [named["ProfileId"]]}
        return profiles.search_profiles(**asked)["Items"]

    [item] = found()
    assert shared(profile, item) == profile
    profiles.update_profile(**named, FirstName="", Address={"City": "Nice", "Country": ""}, Attributes={"tier": "iron"})
    [item] = found()
    assert ("FirstName" in item, item["Address"], item["Attributes"]) == (False, {"City": "Nice"}, {"tier": "iron"})
    profiles.delete_profile(**named)
    assert found() == []
    profiles.delete_domain(DomainName=domain["DomainName"])
    assert code_of(profiles.get_domain, DomainName=domain["DomainName"]) == "ResourceNotFoundException"
