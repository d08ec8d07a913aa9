"""Programs elsewhere: stock stubs with tokens that boto3 gets, as docs/how-to/grpc.md does it."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import subprocess
import time

import grpc
import pytest
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from google.rpc import error_details_pb2
from quartet.eventbus.v1 import event_bus_service_pb2 as messages
from quartet.eventbus.v1 import event_bus_service_pb2_grpc as service
from quartet.identity.v1 import security_token_service_pb2 as identity_messages
from quartet.identity.v1 import security_token_service_pb2_grpc as identity_service

import stock
from error_details import details_of, error_info
from pages import blocks
from system import ROOT

PAGE = ROOT / "docs" / "how-to" / "grpc.md"
AT = ["event-bus", "all"]


@pytest.fixture(scope="module")
def sts(system):
    return stock.client_of(system, "sts", retries={"total_max_attempts": 1})


def token_of(sts, *audience, **more):
    return sts.get_web_identity_token(Audience=list(audience), SigningAlgorithm="ES384", **more)["WebIdentityToken"]


def list_buses(channel, token):
    request = messages.ListEventBusesRequest(name_prefix="default")
    stub = service.EventBusServiceStub(channel)
    return stub.ListEventBuses(request, metadata=[("authorization", f"Bearer {token}")], timeout=20)


@pytest.mark.parametrize("at", AT)
def test_a_token_is_shown_to_the_service_and_to_the_gateway(at, sts, channel_to):
    buses = list_buses(channel_to(at), token_of(sts, "event-bus")).event_buses
    assert [bus.name for bus in buses] == ["default"]


def test_the_answer_says_when_the_token_ends(sts):
    begun = int(time.time())
    answer = sts.get_web_identity_token(Audience=["gateway"], SigningAlgorithm="ES384", DurationSeconds=60)
    assert begun + 60 <= answer["Expiration"].timestamp() <= time.time() + 60


def encoded(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=")


def claims_of(token):
    head, body, _signature = (part + "==" for part in token.split("."))
    return json.loads(base64.urlsafe_b64decode(head)), json.loads(base64.urlsafe_b64decode(body))


def es384(key):
    def sign(text):
        r, s = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA384())))
        return r.to_bytes(48, "big") + s.to_bytes(48, "big")

    return sign


def forged(head, claims, sign):
    text = encoded(head) + b"." + encoded(claims)
    return (text + b"." + encoded(sign(text))).decode()


@pytest.fixture(scope="module")
def keys(system):
    """The installation's own keys, which no attacker has: by them a token is right in all but one thing."""
    directory = pathlib.Path(system.data_directory) / "keys"
    private = (directory / "client-tokens.private.p384.pem").read_bytes()
    public = (directory / "client-tokens.public.p384.pem").read_bytes()
    gateway = serialization.load_pem_public_key((directory / "gateway.public.pem").read_bytes())
    spki = gateway.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    gateway_id = base64.urlsafe_b64encode(hashlib.sha256(spki).digest())[:16].decode()
    return {"own": serialization.load_pem_private_key(private, None), "public": public, "gateway_id": gateway_id}


FORGERIES = {
    "as it is": lambda head, claims, keys: forged(head, claims, es384(keys["own"])),
    "expired": lambda head, claims, keys: forged(
        head, {**claims, "iat": claims["iat"] - 600, "exp": claims["exp"] - 600}, es384(keys["own"])
    ),
    "for too long": lambda head, claims, keys: forged(head, {**claims, "exp": claims["iat"] + 901}, es384(keys["own"])),
    "of the future": lambda head, claims, keys: forged(
        head, {**claims, "iat": claims["iat"] + 3600, "exp": claims["exp"] + 3600}, es384(keys["own"])
    ),
    "for another service": lambda head, claims, keys: forged(
        head, {**claims, "aud": ["object-storage"]}, es384(keys["own"])
    ),
    "of another issuer": lambda head, claims, keys: forged(head, {**claims, "iss": "gateway"}, es384(keys["own"])),
    "decided on": lambda head, claims, keys: forged(head, {**claims, "preauthorized": True}, es384(keys["own"])),
    "of another key": lambda head, claims, keys: forged(
        head, claims, es384(ec.generate_private_key(ec.SECP384R1()))
    ),
    "of the key id of the gateway": lambda head, claims, keys: forged(
        {**head, "kid": keys["gateway_id"]}, {**claims, "iss": "gateway"}, es384(keys["own"])
    ),
    "without an algorithm": lambda head, claims, keys: forged({**head, "alg": "none"}, claims, lambda text: b""),
    "with the public key as a secret": lambda head, claims, keys: forged(
        {**head, "alg": "HS256"}, claims, lambda text: hmac.digest(keys["public"], text, "sha256")
    ),
    "with an algorithm of its own key": lambda head, claims, keys: forged(
        {**head, "alg": "EdDSA"}, claims, es384(keys["own"])
    ),
}


@pytest.mark.parametrize("at", AT)
@pytest.mark.parametrize("name", FORGERIES)
def test_a_token_is_accepted_only_as_it_is(at, name, sts, keys, channel_to):
    head, claims = claims_of(token_of(sts, "event-bus"))
    token = FORGERIES[name](head, claims, keys)
    if name == "as it is":
        list_buses(channel_to(at), token)
        return
    with pytest.raises(grpc.RpcError) as refusal:
        list_buses(channel_to(at), token)
    assert refusal.value.code() == grpc.StatusCode.UNAUTHENTICATED
    assert error_info(refusal.value).reason == "UNAUTHENTICATED"
    assert token not in refusal.value.details()
    if name in ("expired", "for another service"):
        why = {"expired": "has expired.", "for another service": "is for other services."}[name]
        assert refusal.value.details().endswith(f"The bearer token {why}")


@pytest.mark.parametrize("at", AT)
def test_a_changed_token_is_refused(at, sts, channel_to):
    head, body, signature = token_of(sts, "event-bus").split(".")
    _, claims = claims_of(f"{head}.{body}.{signature}")
    changed = encoded({**claims, "account": "999999999999"}).decode()
    with pytest.raises(grpc.RpcError) as refusal:
        list_buses(channel_to(at), f"{head}.{changed}.{signature}")
    assert refusal.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_who_shows_a_token_gets_no_other_one(sts, channel_to):
    stub = identity_service.SecurityTokenServiceStub(channel_to("all"))
    shown = [("authorization", f"Bearer {token_of(sts, 'gateway')}")]
    assert stub.GetCallerIdentity(identity_messages.GetCallerIdentityRequest(), metadata=shown).account
    asked = identity_messages.GetWebIdentityTokenRequest(audience=["gateway"], signing_algorithm="ES384")
    with pytest.raises(grpc.RpcError) as refusal:
        stub.GetWebIdentityToken(asked, metadata=shown)
    assert refusal.value.code() == grpc.StatusCode.PERMISSION_DENIED


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"Audience": ["https://api.example.com"]}, "OutboundWebIdentityFederationDisabledException"),
        ({"SigningAlgorithm": "RS256"}, "ValidationError"),
        ({"DurationSeconds": 3600}, "ValidationError"),
    ],
)
def test_the_sdk_is_told_what_is_not_offered(asked, code, sts):
    with pytest.raises(ClientError) as refusal:
        sts.get_web_identity_token(**{"Audience": ["gateway"], "SigningAlgorithm": "ES384", **asked})
    assert refusal.value.response["Error"]["Code"] == code


@pytest.fixture
def reader(system, monkeypatch):
    """The environment of who follows the page, and its programs with the address of this system."""
    key = system.credentials()
    environment = stock.environment_of(system.urls["gateway"], key["accessKeyId"], key["secretAccessKey"])
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    address = system.urls["all"].removeprefix("http://")
    return lambda language: [block.replace("127.0.0.1:8082", address) for block in blocks(PAGE, language)]


def test_the_python_program_of_the_page(reader, sts, capsys):
    [program] = reader("python")
    there = {}
    exec(compile(program, PAGE, "exec"), there)
    assert "'default'" in capsys.readouterr().out
    token, shown = there["Token"]("event-bus"), []
    for _ in range(2):
        token(None, lambda metadata, error: shown.append(metadata))
    assert shown[0] == shown[1]
    token.renew_at = time.time()
    token(None, lambda metadata, error: shown.append(metadata))
    assert shown[2] != shown[0]
    refused = there["service"].EventBusServiceStub(
        grpc.secure_channel(
            program.split('secure_channel("')[1].split('"')[0],
            grpc.composite_channel_credentials(
                grpc.local_channel_credentials(), grpc.metadata_call_credentials(there["Token"]("object-storage"))
            ),
        )
    )
    with pytest.raises(grpc.RpcError) as refusal:
        refused.ListEventBuses(messages.ListEventBusesRequest())
    assert refusal.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_the_node_program_of_the_page(reader, tmp_path):
    [program] = reader("ts")
    (tmp_path / "program.ts").write_text(program)
    (tmp_path / "package.json").write_text('{"type":"module"}')
    for name in ("gen", "node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    node = ROOT / "node_modules" / ".bin" / "node"
    command = [node, "--preserve-symlinks", "program.ts"]
    finished = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=120)
    assert "'default'" in finished.stdout, finished.stderr


def test_the_refusal_of_a_call_with_wrong_members(sts, channel_to):
    with pytest.raises(grpc.RpcError) as refusal:
        service.EventBusServiceStub(channel_to("all")).PutRule(
            messages.PutRuleRequest(name="not a name"),
            metadata=[("authorization", f"Bearer {token_of(sts, 'gateway')}")],
        )
    assert refusal.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error_info(refusal.value).domain == "event-bus.quartet"
    [members] = [each for each in details_of(refusal.value) if isinstance(each, error_details_pb2.BadRequest)]
    assert [violation.field for violation in members.field_violations] == ["name"]
