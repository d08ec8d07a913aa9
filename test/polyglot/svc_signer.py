#!/usr/bin/env python3
"""Signs requests in either dialect. Written from the documented algorithm, with the standard library only.

It shares nothing with the gateway's verification, so that each checks the other. As a program it reads one JSON
document from standard input, {"form": "header" | "presigned" | "chunks", ...arguments of the function}, and prints the
signed request as JSON.
"""

import base64
import dataclasses
import datetime
import hashlib
import hmac
import json
import sys
import urllib.parse


@dataclasses.dataclass(frozen=True)
class Dialect:
    """How one dialect spells what both have."""

    word: str  # in header names
    seed: str  # before the secret and in algorithm names

    @property
    def algorithm(self) -> str:
        return f"{self.seed}-HMAC-SHA256"

    @property
    def terminator(self) -> str:
        return f"{self.seed.lower()}_request"

    def header(self, name: str) -> str:
        return f"x-{self.word}-{name}"

    def parameter(self, name: str) -> str:
        return f"X-{self.word.capitalize()}-{name}"


DIALECTS = {"svc": Dialect("svc", "SVC4"), "amz": Dialect("amz", "AWS4")}

UNSIGNED = "UNSIGNED-PAYLOAD"
EMPTY_HASH = hashlib.sha256(b"").hexdigest()


@dataclasses.dataclass(frozen=True)
class Signer:
    """An access key in one region and service."""

    dialect: Dialect
    access_key_id: str
    secret_access_key: str
    region: str
    service: str
    encodes_twice: bool = False

    def header(self, method, host, path, query=(), headers=None, body=b"", when=None, payload_hash=None):
        """A request whose authorization header signs all its headers. Returns path, query and headers as they go on the wire."""
        when = when or datetime.datetime.now(datetime.timezone.utc)
        if payload_hash is None:
            payload_hash = hashlib.sha256(body).hexdigest()
        signed = {name.lower(): value for name, value in (headers or {}).items()}
        signed["host"] = host
        signed[self.dialect.header("date")] = stamp(when)
        signed[self.dialect.header("content-sha256")] = payload_hash
        wire_path, wire_query = quote(path, "/"), spell(query)
        names = ";".join(sorted(signed))
        signature = self._sign(when, self._canonical(method, wire_path, wire_query, signed, payload_hash))
        credential = f"{self.access_key_id}/{self._scope(when)}"
        signed["authorization"] = (
            f"{self.dialect.algorithm} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        )
        return {"method": method, "path": wire_path, "query": wire_query, "headers": signed, "signature": signature}

    def presigned(self, method, host, path, query=(), headers=None, when=None, expires=3600):
        """A request whose query signs it, for as many seconds as `expires`."""
        when = when or datetime.datetime.now(datetime.timezone.utc)
        signed = {name.lower(): value for name, value in (headers or {}).items()}
        signed["host"] = host
        parameters = list(query) + [
            (self.dialect.parameter("Algorithm"), self.dialect.algorithm),
            (self.dialect.parameter("Credential"), f"{self.access_key_id}/{self._scope(when)}"),
            (self.dialect.parameter("Date"), stamp(when)),
            (self.dialect.parameter("Expires"), str(expires)),
            (self.dialect.parameter("SignedHeaders"), ";".join(sorted(signed))),
        ]
        wire_path = quote(path, "/")
        signature = self._sign(when, self._canonical(method, wire_path, spell(parameters), signed, UNSIGNED))
        wire_query = spell(parameters) + f"&{self.dialect.parameter('Signature')}={signature}"
        return {"method": method, "path": wire_path, "query": wire_query, "headers": signed, "signature": signature}

    def chunks(self, method, host, path, chunks, query=(), headers=None, when=None, trailers=None):
        """A request whose body is `chunks`, each signed after the one before it; `wire` is that body."""
        when = when or datetime.datetime.now(datetime.timezone.utc)
        headers = dict(headers or {})
        headers["content-encoding"] = f"{'aws' if self.dialect.word == 'amz' else self.dialect.word}-chunked"
        headers[self.dialect.header("decoded-content-length")] = str(sum(len(chunk) for chunk in chunks))
        kind = f"STREAMING-{self.dialect.algorithm}-PAYLOAD"
        if trailers:
            kind += "-TRAILER"
            headers[self.dialect.header("trailer")] = ",".join(trailers)
        request = self.header(method, host, path, query, headers, when=when, payload_hash=kind)
        previous, wire = request["signature"], b""
        for chunk in [*chunks, b""]:
            previous = self._sign_chained(when, "PAYLOAD", previous, EMPTY_HASH, hashlib.sha256(chunk).hexdigest())
            wire += f"{len(chunk):x};chunk-signature={previous}\r\n".encode() + chunk
            wire += b"\r\n" if chunk or not trailers else b""
        if trailers:
            block = "".join(f"{name}:{value}\n" for name, value in trailers.items()).encode()
            last = self._sign_chained(when, "TRAILER", previous, hashlib.sha256(block).hexdigest())
            wire += block.replace(b"\n", b"\r\n")
            wire += f"{self.dialect.header('trailer-signature')}:{last}\r\n\r\n".encode()
        return {**request, "wire": wire}

    def _scope(self, when) -> str:
        return "/".join([stamp(when)[:8], self.region, self.service, self.dialect.terminator])

    def _canonical(self, method, wire_path, wire_query, headers, payload_hash) -> str:
        path = quote(wire_path, "/") if self.encodes_twice else wire_path
        lines = [f"{name}:{' '.join(headers[name].split())}" for name in sorted(headers)]
        return "\n".join([method, path, wire_query, *lines, "", ";".join(sorted(headers)), payload_hash])

    def _sign(self, when, canonical: str) -> str:
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        return self._mac(when, "\n".join([self.dialect.algorithm, stamp(when), self._scope(when), digest]))

    def _sign_chained(self, when, kind: str, previous: str, *hashes: str) -> str:
        first = f"{self.dialect.algorithm}-{kind}"
        return self._mac(when, "\n".join([first, stamp(when), self._scope(when), previous, *hashes]))

    def _mac(self, when, text: str) -> str:
        key = (self.dialect.seed + self.secret_access_key).encode()
        for part in self._scope(when).split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return hmac.digest(key, text.encode(), "sha256").hex()


def stamp(when: datetime.datetime) -> str:
    return when.astimezone(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")


def quote(text: str, safe: str = "") -> str:
    return urllib.parse.quote(text, safe=safe + "-._~")


def spell(query) -> str:
    pairs = sorted((quote(name), quote(value)) for name, value in query)
    return "&".join(f"{name}={value}" for name, value in pairs)


def main() -> None:
    arguments = json.load(sys.stdin)
    form = arguments.pop("form")
    key = {name: arguments.pop(name) for name in ("access_key_id", "secret_access_key", "region", "service")}
    signer = Signer(DIALECTS[arguments.pop("dialect")], **key, encodes_twice=arguments.pop("encodes_twice", False))
    if "when" in arguments:
        arguments["when"] = datetime.datetime.fromisoformat(arguments["when"])
    if "body" in arguments:
        arguments["body"] = arguments["body"].encode()
    if "chunks" in arguments:
        arguments["chunks"] = [chunk.encode() for chunk in arguments["chunks"]]
    request = getattr(signer, form)(**arguments)
    if "wire" in request:
        request["wire"] = base64.b64encode(request["wire"]).decode()
    json.dump(request, sys.stdout)


if __name__ == "__main__":
    main()
