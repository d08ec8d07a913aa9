"""What stock clients and tools are told of a system: an endpoint and a key."""

import os
import pathlib
import urllib.parse

import boto3
import botocore.config

REGION = "us-east-1"


def client_of(system, service: str = "s3", host: str = "127.0.0.1", **config):
    """A client as boto3 makes it, with the key of the first start; `config` is that of botocore."""
    key = system.credentials()
    return boto3.client(
        service,
        endpoint_url=system.urls["gateway"].replace("127.0.0.1", host),
        region_name=REGION,
        aws_access_key_id=key["accessKeyId"],
        aws_secret_access_key=key["secretAccessKey"],
        config=botocore.config.Config(**config),
    )


def s3cmd_file(directory: pathlib.Path, system, **settings: str) -> pathlib.Path:
    """A file of settings for s3cmd, with the key of the first start; `settings` are further ones."""
    key, host = system.credentials(), urllib.parse.urlsplit(system.urls["gateway"]).netloc
    all_settings = {
        "access_key": key["accessKeyId"],
        "secret_key": key["secretAccessKey"],
        "host_base": host,
        "host_bucket": host,
        "use_https": "False",
        "bucket_location": REGION,
        **settings,
    }
    file = directory / "s3cfg"
    file.write_text("[default]\n" + "".join(f"{name} = {value}\n" for name, value in all_settings.items()))
    return file


def environment_of(endpoint: str, access_key_id: str, secret_access_key: str) -> dict[str, str]:
    """The environment of a tool; of the machine's settings for the cloud of that name it has none."""
    foreign = ("AWS_", "RCLONE_", "RESTIC_")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        "LC_ALL": "C.UTF-8",
        "PYTHONIOENCODING": "utf-8",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": access_key_id,
        "AWS_SECRET_ACCESS_KEY": secret_access_key,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "RCLONE_CONFIG": os.devnull,
        "RCLONE_CONFIG_QUARTET_TYPE": "s3",
        "RCLONE_CONFIG_QUARTET_PROVIDER": "Other",
        "RCLONE_CONFIG_QUARTET_ENV_AUTH": "true",
        "RCLONE_CONFIG_QUARTET_REGION": REGION,
        "RCLONE_CONFIG_QUARTET_ENDPOINT": endpoint,
        "RCLONE_CONFIG_QUARTET_LIST_URL_ENCODE": "true",
    }
