"""Extracts the collections of Ansible that tests need from the wheel that holds them all: <wheel> <directory>."""

import sys
import zipfile

NEEDED = ("amazon/aws", "ansible/posix", "community/aws")

wheel, directory = sys.argv[1:]
prefixes = tuple(f"ansible_collections/{name}/" for name in NEEDED)
with zipfile.ZipFile(wheel) as archive:
    archive.extractall(directory, [name for name in archive.namelist() if name.startswith(prefixes)])
