#!/usr/bin/env bash
# Runs the public Connect conformance runner against the kit's server and against both engines of its client.
# usage: test/conformance/run.sh [server|client-connect|client-grpc ...] [-- flags of the runner, for example --run "Basic/**"]
# Needs Go; without it, says so and succeeds. What it installs stays in test/conformance/.cache.
set -euo pipefail
version=v1.0.6
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/.cache
bin=$here/../../node_modules/.bin

if ! command -v go >/dev/null; then
  echo "conformance: skipped, because the runner is built with Go and there is no go on the PATH"
  exit 0
fi
runner=$cache/bin/connectconformance-$version
if [ ! -x "$runner" ]; then
  mkdir -p "$cache/bin"
  GOBIN=$cache/bin go install "connectrpc.com/conformance/cmd/connectconformance@$version"
  mv "$cache/bin/connectconformance" "$runner"
fi
export CONFORMANCE_DESCRIPTORS=$cache/conformance-$version.binpb
if [ ! -s "$CONFORMANCE_DESCRIPTORS" ]; then
  module=$(go env GOMODCACHE)/connectrpc.com/conformance@$version
  (cd "$module/proto" && "$bin/buf" build . --as-file-descriptor-set -o "$CONFORMANCE_DESCRIPTORS")
fi

parts=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
  parts+=("$1")
  shift
done
[ $# -eq 0 ] || shift
[ ${#parts[@]} -gt 0 ] || parts=(server client-connect client-grpc)

status=0
for part in "${parts[@]}"; do
  echo "== $part"
  known=()
  for kind in failing flaky; do
    list=$here/$part-known-$kind.txt
    [ ! -s "$list" ] || known+=("--known-$kind" "@$list")
  done
  "$runner" --mode "${part%%-*}" --conf "$here/$part.yaml" "${known[@]}" "$@" -- \
    "$bin/node" "$here/${part%%-*}.ts" || status=1
done
exit $status
