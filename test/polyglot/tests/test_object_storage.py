import hashlib

import grpc
import pytest
from quartet.objectstorage.v1 import object_storage_service_pb2 as messages
from quartet.objectstorage.v1 import object_storage_service_pb2_grpc as service

from error_details import error_info

CHUNK = bytes(range(256)) * 4096


@pytest.fixture
def storage(channel_to):
    return service.ObjectStorageServiceStub(channel_to("object-storage"))


@pytest.fixture
def bucket(storage, metadata, unique):
    name = f"polyglot-{unique}"
    storage.CreateBucket(messages.CreateBucketRequest(bucket=name), metadata=metadata)
    return name


def upload(bucket: str, key: str, chunks: int):
    yield messages.PutObjectRequest(bucket=bucket, key=key, content_type="application/x-test", metadata={"who": "zoe"})
    for _ in range(chunks):
        yield messages.PutObjectRequest(body=CHUNK)


@pytest.mark.parametrize("chunks", [0, 1, 40])
def test_an_object_is_streamed_up_and_down(storage, bucket, metadata, chunks):
    storage.PutObject(upload(bucket, "folder/ü", chunks), metadata=metadata)
    head, *rest = storage.GetObject(messages.GetObjectRequest(bucket=bucket, key="folder/ü"), metadata=metadata)
    body = b"".join([head.body, *(message.body for message in rest)])
    assert hashlib.sha256(body).digest() == hashlib.sha256(CHUNK * chunks).digest()
    assert (head.content_length, head.content_type, dict(head.metadata)) == (
        chunks * len(CHUNK),
        "application/x-test",
        {"who": "zoe"},
    )


def test_a_download_can_be_cancelled(storage, bucket, metadata):
    storage.PutObject(upload(bucket, "large", 40), metadata=metadata)
    call = storage.GetObject(messages.GetObjectRequest(bucket=bucket, key="large"), metadata=metadata)
    next(call)
    call.cancel()
    with pytest.raises(grpc.RpcError):
        list(call)
    again = storage.GetObject(messages.GetObjectRequest(bucket=bucket, key="large"), metadata=metadata)
    assert sum(len(message.body) for message in again) == 40 * len(CHUNK)


def test_a_key_that_is_not_there_is_refused(storage, bucket, metadata):
    with pytest.raises(grpc.RpcError) as refusal:
        list(storage.GetObject(messages.GetObjectRequest(bucket=bucket, key="nothing"), metadata=metadata))
    info = error_info(refusal.value)
    assert refusal.value.code() == grpc.StatusCode.NOT_FOUND
    assert (info.reason, info.domain) == ("NO_SUCH_KEY", "object-storage.quartet")
