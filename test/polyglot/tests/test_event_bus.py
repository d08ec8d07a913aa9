import grpc
import pytest
from quartet.eventbus.v1 import event_bus_service_pb2 as messages
from quartet.eventbus.v1 import event_bus_service_pb2_grpc as service
from quartet.eventbus.v1 import event_pb2 as events

from error_details import error_info


@pytest.fixture
def bus(channel_to):
    return service.EventBusServiceStub(channel_to("event-bus"))


def test_an_event_is_published(bus, metadata):
    entry = events.PutEventsRequestEntry(source="shop", detail_type="order", detail='{"total": 3}')
    answer = bus.PutEvents(messages.PutEventsRequest(entries=[entry]), metadata=metadata)
    assert answer.failed_entry_count == 0
    assert len(answer.entries) == 1 and answer.entries[0].event_id != ""


def test_the_default_bus_is_there(bus, metadata):
    described = bus.DescribeEventBus(messages.DescribeEventBusRequest(), metadata=metadata)
    assert (described.name, described.arn) == ("default", "arn:aws:events:us-east-1:000000000000:event-bus/default")


def test_a_rule_that_is_not_there_is_refused(bus, metadata):
    with pytest.raises(grpc.RpcError) as refusal:
        bus.DescribeRule(messages.DescribeRuleRequest(name="nothing"), metadata=metadata)
    info = error_info(refusal.value)
    assert refusal.value.code() == grpc.StatusCode.NOT_FOUND
    assert (info.reason, info.domain) == ("RULE_NOT_FOUND", "event-bus.quartet")
    assert dict(info.metadata) == {"rule": "nothing", "event_bus": "default"}
