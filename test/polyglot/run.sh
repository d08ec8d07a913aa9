#!/usr/bin/env bash
# Runs the tests of clients in other languages: makes a Python environment, generates stubs from proto/, and lets
# pytest start a whole system of its own. Further arguments go to pytest. Needs Python 3.11 or newer.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=$here/.cache
python=$cache/venv/bin/python

if ! cmp -s "$here/requirements.txt" "$cache/installed.txt"; then
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
  rm -rf "$cache/venv"
  python3 -m venv "$cache/venv"
  "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  # Of the 500 MB of collections that this package of Ansible holds, the few that a play needs.
  rm -rf "$cache/ansible"
  "$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$cache/ansible" ansible==12.3.0
  "$python" "$here/ansible_collections.py" "$cache"/ansible/ansible-*.whl "$cache/ansible"
  rm "$cache"/ansible/ansible-*.whl
  cp "$here/requirements.txt" "$cache/installed.txt"
fi

# Google's own error details come from here too, so that the stubs need nothing but gRPC itself.
rm -rf "$cache/stubs"
mkdir -p "$cache/stubs"
(cd "$root/proto" && find . -name '*.proto' | sort | xargs "$python" -m grpc_tools.protoc \
  --proto_path=. --python_out="$cache/stubs" --grpc_python_out="$cache/stubs")

cd "$here"
# Two workers, each with a system of its own; the tests of a file stay together.
exec "$python" -m pytest -p no:cacheprovider -n 2 --dist loadfile "$@"
