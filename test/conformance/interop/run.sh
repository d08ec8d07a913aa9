#!/usr/bin/env bash
# Runs the cases of the public gRPC interop client (grpc-go) against the kit's server.
# Needs Go; without it, says so and succeeds. What it installs stays in test/conformance/.cache.
set -euo pipefail
version=v1.61.0
here=$(cd "$(dirname "$0")" && pwd)
cache=$here/../.cache
bin=$here/../../../node_modules/.bin
cases=(empty_unary large_unary client_streaming server_streaming ping_pong empty_stream custom_metadata
  status_code_and_message special_status_message unimplemented_method unimplemented_service
  timeout_on_sleeping_server cancel_after_begin cancel_after_first_response)

if ! command -v go >/dev/null; then
  echo "interop: skipped, because the client is built with Go and there is no go on the PATH"
  exit 0
fi
client=$cache/bin/grpc-interop-$version
if [ ! -x "$client" ]; then
  mkdir -p "$cache/bin"
  GOBIN=$cache/bin go install "google.golang.org/grpc/interop/client@$version"
  mv "$cache/bin/client" "$client"
fi
export INTEROP_DESCRIPTORS=$cache/interop-$version.binpb
if [ ! -s "$INTEROP_DESCRIPTORS" ]; then
  build=$cache/interop
  rm -rf "$build"
  mkdir -p "$build"
  cp "$here/descriptors.go" "$build"
  (
    cd "$build"
    go mod init interop
    go get "google.golang.org/grpc/interop/grpc_testing@$version"
    go run . >"$INTEROP_DESCRIPTORS.new"
  )
  mv "$INTEROP_DESCRIPTORS.new" "$INTEROP_DESCRIPTORS"
fi

coproc SERVER { exec "$bin/node" "$here/server.ts"; }
server=$SERVER_PID
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r -u "${SERVER[0]}" port
failed=0
for case in "${cases[@]}"; do
  if output=$("$client" --server_host=127.0.0.1 --server_port="$port" --test_case="$case" 2>&1); then
    echo "passed $case"
  else
    failed=$((failed + 1))
    echo "FAILED $case"
    echo "$output"
  fi
done
echo "${#cases[@]} cases, $failed failed"
[ "$failed" -eq 0 ]
