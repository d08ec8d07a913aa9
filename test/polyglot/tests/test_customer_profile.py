import grpc
import pytest
from quartet.customerprofile.v1 import customer_profile_service_pb2 as messages
from quartet.customerprofile.v1 import customer_profile_service_pb2_grpc as service

from error_details import error_info


@pytest.fixture
def profiles(channel_to):
    return service.CustomerProfileServiceStub(channel_to("customer-profile"))


def test_a_profile_is_found_by_its_key(profiles, metadata, unique):
    domain = f"shop-{unique}"
    profiles.CreateDomain(
        messages.CreateDomainRequest(domain_name=domain, default_expiration_days=30), metadata=metadata
    )
    made = profiles.CreateProfile(
        messages.CreateProfileRequest(domain_name=domain, account_number="4711", first_name="Zoë"), metadata=metadata
    )
    found = profiles.SearchProfiles(
        messages.SearchProfilesRequest(domain_name=domain, key_name="_account", values=["4711"]), metadata=metadata
    )
    assert [(item.profile_id, item.first_name) for item in found.items] == [(made.profile_id, "Zoë")]
    profiles.DeleteDomain(messages.DeleteDomainRequest(domain_name=domain), metadata=metadata)


def test_a_domain_that_is_not_there_is_named_in_the_refusal(profiles, metadata):
    with pytest.raises(grpc.RpcError) as refusal:
        profiles.GetDomain(messages.GetDomainRequest(domain_name="nowhere"), metadata=metadata)
    info = error_info(refusal.value)
    assert refusal.value.code() == grpc.StatusCode.NOT_FOUND
    assert (info.reason, info.domain) == ("DOMAIN_NOT_FOUND", "customer-profile.quartet")
    assert info.metadata["domain_name"] == "nowhere"
