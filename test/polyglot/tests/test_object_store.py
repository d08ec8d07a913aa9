"""The object store of Rust's data tools (Arrow, DataFusion, Delta Lake, Polars), as its Python package comes."""

import concurrent.futures

import obstore.exceptions
import pytest
from obstore.store import S3Store

import stock

MEBIBYTE = 1 << 20


@pytest.fixture
def store(system, s3, unique):
    name = f"lake-{unique}"
    s3.create_bucket(Bucket=name)
    key = system.credentials()
    return S3Store(
        name,
        endpoint=system.urls["gateway"],
        region=stock.REGION,
        access_key_id=key["accessKeyId"],
        secret_access_key=key["secretAccessKey"],
        client_options={"allow_http": True},
    )


@pytest.mark.parametrize("key", ["plain", "a b+c%20/é", "a%2Fb", "#?&=", "p=1/q=x y/part-0.parquet"])
def test_keys_are_read_as_they_were_written(store, key):
    store.put(key, b"content")
    assert bytes(store.get(key).bytes()) == b"content"
    assert [entry["path"] for entry in store.list().collect()] == [key]
    store.copy(key, "copies/" + key)
    store.delete([key, "copies/" + key])
    assert list(store.list().collect()) == []


def test_a_commit_file_is_created_once(store):
    """How tables commit: of many writers of one version, one wins and the others learn it."""

    def commit(writer: int) -> bool:
        try:
            store.put("_log/0001.json", str(writer).encode(), mode="create")
        except obstore.exceptions.AlreadyExistsError:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        won = [writer for writer, wins in enumerate(pool.map(commit, range(8))) if wins]
    assert len(won) == 1
    assert bytes(store.get("_log/0001.json").bytes()) == str(won[0]).encode()


def test_an_object_is_replaced_only_as_it_was_read(store):
    as_first_read = {"e_tag": store.put("state", b"1")["e_tag"]}
    second = store.put("state", b"2", mode=as_first_read)
    with pytest.raises(obstore.exceptions.PreconditionError):
        store.put("state", b"3", mode=as_first_read)
    assert store.head("state")["e_tag"] == second["e_tag"]
    assert bytes(store.get("state").bytes()) == b"2"


def test_parts_are_one_object_of_which_ranges_are_read(store):
    content = bytes(range(256)) * (12 * MEBIBYTE // 256)
    store.put("big", content, chunk_size=5 * MEBIBYTE)
    assert store.head("big")["e_tag"].endswith('-3"')
    starts = [0, 5 * MEBIBYTE - 2, 12 * MEBIBYTE - 4]
    ranges = store.get_ranges("big", starts=starts, lengths=[4, 4, 4])
    assert [bytes(each) for each in ranges] == [content[start : start + 4] for start in starts]
    assert bytes(store.get("big", options={"range": {"suffix": 3}}).bytes()) == content[-3:]


def test_what_is_missing_and_who_may_not_are_told_apart(system, store):
    with pytest.raises(FileNotFoundError):
        store.get("nothing")
    stranger = S3Store(
        store.config["bucket"],
        endpoint=system.urls["gateway"],
        region=stock.REGION,
        access_key_id=system.credentials()["accessKeyId"],
        secret_access_key="not the secret",
        client_options={"allow_http": True},
    )
    with pytest.raises(obstore.exceptions.PermissionDeniedError):
        stranger.get("nothing")
