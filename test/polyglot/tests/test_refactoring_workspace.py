import grpc
import pytest
from quartet.refactoringworkspace.v1 import environment_pb2 as environments
from quartet.refactoringworkspace.v1 import refactoring_workspace_service_pb2 as messages
from quartet.refactoringworkspace.v1 import refactoring_workspace_service_pb2_grpc as service

from error_details import error_info


@pytest.fixture
def workspaces(channel_to):
    return service.RefactoringWorkspaceServiceStub(channel_to("refactoring-workspace"))


def test_an_environment_is_read_back(workspaces, metadata, unique):
    made = workspaces.CreateEnvironment(
        messages.CreateEnvironmentRequest(
            name=f"shop {unique}",
            network_fabric_type=environments.NETWORK_FABRIC_TYPE_NONE,
            tags={"team": "Straße"},
        ),
        metadata=metadata,
    )
    read = workspaces.GetEnvironment(
        messages.GetEnvironmentRequest(environment_identifier=made.environment_id), metadata=metadata
    )
    assert (read.name, read.owner_account_id, dict(read.tags)) == (f"shop {unique}", "000000000000", {"team": "Straße"})


def test_an_environment_that_is_not_there_is_refused(workspaces, metadata):
    with pytest.raises(grpc.RpcError) as refusal:
        workspaces.GetEnvironment(
            messages.GetEnvironmentRequest(environment_identifier="env-0000000000"), metadata=metadata
        )
    info = error_info(refusal.value)
    assert refusal.value.code() == grpc.StatusCode.NOT_FOUND
    assert (info.reason, info.domain) == ("RESOURCE_NOT_FOUND", "refactoring-workspace.quartet")
    assert info.metadata["resource_id"] == "env-0000000000"
