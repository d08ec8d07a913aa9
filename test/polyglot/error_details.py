"""What a refusal says beside its code and message."""

import grpc
from google.rpc import error_details_pb2, status_pb2


def details_of(refusal: grpc.RpcError) -> list:
    """The details that `grpc-status-details-bin` carries, unpacked."""
    [value] = [value for name, value in refusal.trailing_metadata() if name == "grpc-status-details-bin"]
    status = status_pb2.Status.FromString(value)
    assert status.code == refusal.code().value[0]
    assert status.message == refusal.details()
    unpacked = []
    for detail in status.details:
        message = getattr(error_details_pb2, detail.type_url.rpartition(".")[2])()
        assert detail.Unpack(message)
        unpacked.append(message)
    return unpacked


def error_info(refusal: grpc.RpcError) -> error_details_pb2.ErrorInfo:
    [info] = [detail for detail in details_of(refusal) if isinstance(detail, error_details_pb2.ErrorInfo)]
    return info
