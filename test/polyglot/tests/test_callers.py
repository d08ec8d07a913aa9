"""Who may call, the same for all services."""

import json
import urllib.request

import grpc
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from google.rpc import error_details_pb2
from quartet.customerprofile.v1 import customer_profile_service_pb2 as profile_messages
from quartet.customerprofile.v1 import customer_profile_service_pb2_grpc as profile_service
from quartet.eventbus.v1 import event_bus_service_pb2 as bus_messages
from quartet.eventbus.v1 import event_bus_service_pb2_grpc as bus_service
from quartet.objectstorage.v1 import object_storage_service_pb2 as storage_messages
from quartet.objectstorage.v1 import object_storage_service_pb2_grpc as storage_service
from quartet.refactoringworkspace.v1 import refactoring_workspace_service_pb2 as workspace_messages
from quartet.refactoringworkspace.v1 import refactoring_workspace_service_pb2_grpc as workspace_service

from error_details import details_of, error_info

CALLS = {
    "customer-profile": lambda channel, **options: profile_service.CustomerProfileServiceStub(channel).ListDomains(
        profile_messages.ListDomainsRequest(), **options
    ),
    "refactoring-workspace": lambda channel, **options: workspace_service.RefactoringWorkspaceServiceStub(
        channel
    ).ListEnvironments(workspace_messages.ListEnvironmentsRequest(), **options),
    "event-bus": lambda channel, **options: bus_service.EventBusServiceStub(channel).ListEventBuses(
        bus_messages.ListEventBusesRequest(), **options
    ),
    "object-storage": lambda channel, **options: storage_service.ObjectStorageServiceStub(channel).ListBuckets(
        storage_messages.ListBucketsRequest(), **options
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_caller_with_a_token_is_answered(name, channel_to, metadata):
    CALLS[name](channel_to(name), metadata=metadata)


@pytest.mark.parametrize("name", CALLS)
def test_the_gateway_passes_calls_of_every_service_through(name, channel_to, metadata):
    CALLS[name](channel_to("all"), metadata=metadata)
    with pytest.raises(grpc.RpcError) as refusal:
        CALLS[name](channel_to("all"))
    assert refusal.value.code() == grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("authorization", [None, "Basic YWxpY2U6c2VjcmV0", "Bearer nonsense"])
def test_a_caller_without_a_token_is_refused(name, authorization, channel_to):
    sent = [] if authorization is None else [("authorization", authorization)]
    with pytest.raises(grpc.RpcError) as refusal:
        CALLS[name](channel_to(name), metadata=sent)
    info = error_info(refusal.value)
    assert refusal.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert (info.reason, info.domain) == ("UNAUTHENTICATED", f"{name}.quartet")


@pytest.mark.parametrize("name", CALLS)
def test_a_token_that_was_changed_is_refused(name, channel_to, metadata):
    [(_, authorization)] = metadata
    head, _, signature = authorization.rpartition(".")
    changed = f"{head}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"
    with pytest.raises(grpc.RpcError) as refusal:
        CALLS[name](channel_to(name), metadata=[("authorization", changed)])
    assert refusal.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_every_refusal_names_its_request(channel_to):
    with pytest.raises(grpc.RpcError) as refusal:
        CALLS["event-bus"](channel_to("event-bus"))
    [request] = [each for each in details_of(refusal.value) if isinstance(each, error_details_pb2.RequestInfo)]
    assert request.request_id != ""


def test_a_member_that_is_not_well_formed_is_named(channel_to, metadata):
    stub = profile_service.CustomerProfileServiceStub(channel_to("customer-profile"))
    with pytest.raises(grpc.RpcError) as refusal:
        stub.GetDomain(profile_messages.GetDomainRequest(domain_name="no spaces please"), metadata=metadata)
    [violations] = [each for each in details_of(refusal.value) if isinstance(each, error_details_pb2.BadRequest)]
    assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert [violation.field for violation in violations.field_violations] == ["domain_name"]


@pytest.mark.parametrize(
    ("signing_name", "method", "answer"),
    [
        ("events", "quartet.eventbus.v1.EventBusService/ListEventBuses", "eventBuses"),
        ("s3", "quartet.objectstorage.v1.ObjectStorageService/ListBuckets", "owner"),
    ],
)
def test_a_call_that_botocore_signs_is_answered(signing_name, method, answer, system):
    credentials = system.credentials()
    key = Credentials(credentials["accessKeyId"], credentials["secretAccessKey"])
    request = AWSRequest(
        method="POST",
        url=f"{system.urls['gateway']}/{method}",
        data=b"{}",
        headers={"content-type": "application/json"},
    )
    SigV4Auth(key, signing_name, "us-east-1").add_auth(request)
    signed = urllib.request.Request(request.url, data=request.data, headers=dict(request.headers), method="POST")
    with urllib.request.urlopen(signed) as response:
        assert answer in json.load(response)
