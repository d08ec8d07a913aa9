"""Apache Arrow's own S3 file system, as data tools use it: the C++ SDK below it speaks unlike the others."""

import urllib.parse

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet
import pytest

#: Above it, Arrow sends an upload in parts of this size.
PART_BYTES = 10 * 1024 * 1024


@pytest.fixture(scope="module")
def files(system):
    key, gateway = system.credentials(), urllib.parse.urlsplit(system.urls["gateway"])
    return pyarrow.fs.S3FileSystem(
        access_key=key["accessKeyId"],
        secret_key=key["secretAccessKey"],
        region="us-east-1",
        scheme=gateway.scheme,
        endpoint_override=gateway.netloc,
        allow_bucket_creation=True,
        allow_bucket_deletion=True,
    )


@pytest.fixture
def bucket(files, unique):
    name = f"arrow-{unique}"
    files.create_dir(name)
    return name


@pytest.fixture(scope="module")
def sales():
    """Ten thousand sales of three shops in two years."""
    numbers = range(10_000)
    return pyarrow.table(
        {
            "number": pyarrow.array(numbers, pyarrow.int64()),
            "shop": [("Antwerp", "Köln", "東京")[number % 3] for number in numbers],
            "year": [2025 + number % 2 for number in numbers],
            "cents": [number * 7919 % 100_000 for number in numbers],
        }
    )


def names_of(files, base):
    """The paths below a base, with whether each is a folder."""
    infos = files.get_file_info(pyarrow.fs.FileSelector(base, recursive=True))
    return sorted((info.path.removeprefix(f"{base}/"), info.type == pyarrow.fs.FileType.Directory) for info in infos)


class TestDataSet:
    def test_is_written_in_partitions_and_read_back(self, files, bucket, sales):
        pyarrow.dataset.write_dataset(
            sales, f"{bucket}/sales", filesystem=files, format="parquet", partitioning=["year"], partitioning_flavor="hive"
        )
        assert names_of(files, f"{bucket}/sales") == [
            ("year=2025", True),
            ("year=2025/part-0.parquet", False),
            ("year=2026", True),
            ("year=2026/part-0.parquet", False),
        ]
        read = pyarrow.dataset.dataset(f"{bucket}/sales", filesystem=files, format="parquet", partitioning="hive")
        assert read.count_rows() == 10_000
        whole = read.to_table(columns=["number", "shop", "cents"]).sort_by("number")
        assert whole.equals(sales.select(["number", "shop", "cents"]))
        of_one_shop = read.to_table(
            filter=(pyarrow.compute.field("year") == 2026) & (pyarrow.compute.field("shop") == "Köln")
        )
        assert sorted(of_one_shop["number"].to_pylist()) == list(range(1, 10_000, 6))

    def test_is_replaced_and_deleted(self, files, bucket, sales):
        write = {"filesystem": files, "format": "parquet", "existing_data_behavior": "delete_matching"}
        pyarrow.dataset.write_dataset(sales, f"{bucket}/sales", **write)
        pyarrow.dataset.write_dataset(sales.slice(0, 5), f"{bucket}/sales", **write)
        read = pyarrow.parquet.read_table(f"{bucket}/sales", filesystem=files)
        assert read["number"].to_pylist() == [0, 1, 2, 3, 4]
        files.delete_dir(f"{bucket}/sales")
        assert names_of(files, bucket) == []
        files.delete_dir(bucket)
        assert files.get_file_info(bucket).type == pyarrow.fs.FileType.NotFound


class TestFile:
    def test_is_read_in_pieces_from_any_place(self, files, bucket):
        content = bytes(range(256)) * 400
        with files.open_output_stream(f"{bucket}/a b+c%d") as stream:
            stream.write(content)
        with files.open_input_file(f"{bucket}/a b+c%d") as file:
            assert file.size() == len(content)
            assert file.read_at(10, 50_000) == content[50_000:50_010]
            file.seek(-3, 2)
            assert file.read() == content[-3:]
        with files.open_input_stream(f"{bucket}/a b+c%d") as stream:
            assert stream.read() == content

    def test_that_is_large_is_sent_in_parts(self, files, bucket):
        content = b"quartet " * (2 * PART_BYTES // 8 + 1)
        with files.open_output_stream(f"{bucket}/large") as stream:
            stream.write(content)
        assert files.get_file_info(f"{bucket}/large").size == len(content)
        with files.open_input_stream(f"{bucket}/large") as stream:
            assert stream.read() == content

    def test_keeps_its_metadata(self, files, bucket):
        with files.open_output_stream(f"{bucket}/a", metadata={"Content-Type": "text/plain", "Content-Language": "nl"}) as stream:
            stream.write(b"meow")
        with files.open_input_stream(f"{bucket}/a") as stream:
            metadata = stream.metadata()
        assert (metadata["Content-Type"], metadata["Content-Language"]) == (b"text/plain", b"nl")
        assert metadata["Content-Length"] == b"4"

    def test_is_copied_moved_and_deleted(self, files, bucket):
        with files.open_output_stream(f"{bucket}/from/a b") as stream:
            stream.write(b"meow")
        files.copy_file(f"{bucket}/from/a b", f"{bucket}/to/copy")
        files.move(f"{bucket}/from/a b", f"{bucket}/to/moved")
        assert [name for name, is_folder in names_of(files, bucket) if not is_folder] == ["to/copy", "to/moved"]
        files.delete_file(f"{bucket}/to/moved")
        assert files.get_file_info(f"{bucket}/to/moved").type == pyarrow.fs.FileType.NotFound

    def test_that_is_missing_is_not_found(self, files, bucket):
        assert files.get_file_info(f"{bucket}/missing").type == pyarrow.fs.FileType.NotFound
        with pytest.raises(FileNotFoundError):
            files.open_input_file(f"{bucket}/missing")
