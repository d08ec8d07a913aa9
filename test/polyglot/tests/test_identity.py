"""boto3 as it comes: users and roles made at run time, roles that are taken on, a web identity's token file."""

import csv
import http.server
import io
import json
import os
import pathlib
import subprocess
import sys
import threading

import boto3
import botocore.config
import botocore.exceptions
import pytest

from system import ROOT, System

ACCOUNT = "000000000000"
ISSUER = "https://login.example.com/shop"

#: A key pair of an identity provider, and a token that it signed, as JSON.
PROVIDER = """
import { exportJWK, generateKeyPair, SignJWT } from "jose";
const { publicKey, privateKey } = await generateKeyPair("ES256", { extractable: true });
const key = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" };
const token = await new SignJWT({ sub: "repo:shop/web" })
  .setProtectedHeader({ alg: "ES256", kid: "one" })
  .setIssuer(process.argv[1]).setAudience("quartet").setIssuedAt().setExpirationTime("1h").sign(privateKey);
process.stdout.write(JSON.stringify({ keys: { keys: [key] }, token }));
"""


def document(**statement):
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]}


@pytest.fixture(scope="module")
def provider():
    return made_by(ISSUER)


def made_by(issuer):
    """The keys of a provider, and a token of it."""
    node = ROOT / "node_modules" / ".bin" / "node"
    command = [str(node), "--input-type=module", "--eval", PROVIDER, issuer]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def own_system(provider):
    federated = f"arn:aws:iam::{ACCOUNT}:oidc-provider/login.example.com/shop"
    trust = document(Principal={"Federated": federated}, Action="sts:AssumeRoleWithWebIdentity")
    everything = document(Action="*", Resource="*")
    running = System(
        {
            "roles": [{"account": ACCOUNT, "name": "deployer", "trustPolicy": trust, "policies": [everything]}],
            "identityProviders": [
                {"account": ACCOUNT, "issuer": ISSUER, "audiences": ["quartet"], "keys": provider["keys"]}
            ],
        }
    )
    yield running
    running.stop()


@pytest.fixture
def stock(own_system, monkeypatch, tmp_path):
    """Makes clients as a program does that knows nothing of the system but its endpoint."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", own_system.urls["gateway"])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    config = botocore.config.Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"})

    def client(service, key=None, session=None):
        secrets = {} if key is None else {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]}
        return (session or boto3.Session()).client(service, config=config, **secrets)

    return client


@pytest.fixture
def root(own_system):
    key = own_system.credentials()
    return key["accessKeyId"], key["secretAccessKey"]


def code_of(call):
    try:
        call()
        return "done"
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]


def test_a_user_takes_on_a_role_by_its_profile(stock, root, tmp_path):
    iam = stock("iam", root)
    iam.create_user(UserName="alice")
    key = iam.create_access_key(UserName="alice")["AccessKey"]
    alice = key["AccessKeyId"], key["SecretAccessKey"]
    arn = f"arn:aws:iam::{ACCOUNT}:user/alice"
    trust = json.dumps(document(Principal={"AWS": arn}, Action="sts:AssumeRole"))
    role = iam.create_role(RoleName="lister", AssumeRolePolicyDocument=trust)["Role"]
    assert role["AssumeRolePolicyDocument"] == json.loads(trust)
    policy = json.dumps(document(Action="s3:ListAllMyBuckets", Resource="*"))
    iam.put_role_policy(RoleName="lister", PolicyName="list", PolicyDocument=policy)

    assert stock("sts", alice).get_caller_identity()["Arn"] == arn
    assert code_of(stock("s3", alice).list_buckets) == "AccessDenied"
    issued = stock("sts", alice).assume_role(RoleArn=role["Arn"], RoleSessionName="nightly")
    assert issued["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/lister/nightly"

    (tmp_path / "credentials").write_text(f"[base]\naws_access_key_id={alice[0]}\naws_secret_access_key={alice[1]}\n")
    (tmp_path / "config").write_text(f"[profile lister]\nrole_arn={role['Arn']}\nsource_profile=base\n")
    session = boto3.Session(profile_name="lister")
    assert stock("s3", session=session).list_buckets()["Buckets"] == []
    assert code_of(lambda: stock("s3", session=session).create_bucket(Bucket="photos")) == "AccessDenied"
    url = stock("s3", session=session).generate_presigned_url("list_buckets")
    assert "X-Amz-Security-Token=" in url or "x-amz-security-token=" in url
    iam.update_access_key(UserName="alice", AccessKeyId=alice[0], Status="Inactive")
    assert code_of(stock("sts", alice).get_caller_identity) == "InvalidClientTokenId"


def test_a_role_is_taken_on_with_a_web_identity_token_file(stock, provider, monkeypatch, tmp_path):
    (tmp_path / "token").write_text(provider["token"])
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("AWS_ROLE_ARN", f"arn:aws:iam::{ACCOUNT}:role/deployer")
    monkeypatch.setenv("AWS_ROLE_SESSION_NAME", "deploy")
    arn = stock("sts").get_caller_identity()["Arn"]
    assert arn == f"arn:aws:sts::{ACCOUNT}:assumed-role/deployer/deploy"
    assert stock("s3").list_buckets()["ResponseMetadata"]["HTTPStatusCode"] == 200


@pytest.fixture
def discovered():
    """A provider of web identities that is found by discovery: its URL, a token of it, and what was asked of it."""
    asked = []

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            body = json.dumps(made["keys"] if self.path == "/keys" else {"issuer": url, "jwks_uri": f"{url}/keys"})
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_arguments):
            """Says nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    url = f"http://127.0.0.1:{server.server_port}"
    made = made_by(url)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield url, made["token"], asked
    server.shutdown()
    server.server_close()


def test_a_provider_is_created_trusted_and_deleted(stock, root, discovered):
    url, token, asked = discovered
    iam, sts = stock("iam", root), stock("sts")
    tags = [{"Key": "team", "Value": "web"}]
    arn = iam.create_open_id_connect_provider(Url=url, ClientIDList=["other"], Tags=tags)["OpenIDConnectProviderArn"]
    assert arn == f"arn:aws:iam::{ACCOUNT}:oidc-provider/{url.removeprefix('http://')}"
    assert code_of(lambda: iam.create_open_id_connect_provider(Url=url)) == "EntityAlreadyExists"
    assert code_of(lambda: iam.create_open_id_connect_provider(Url="ftp://login.example.com")) == "InvalidInput"
    trust = json.dumps(document(Principal={"Federated": arn}, Action="sts:AssumeRoleWithWebIdentity"))
    role = iam.create_role(RoleName="builder", Path="/ci/", AssumeRolePolicyDocument=trust)["Role"]["Arn"]

    def assume():
        return sts.assume_role_with_web_identity(RoleArn=role, RoleSessionName="build", WebIdentityToken=token)

    assert code_of(assume) == "IDPRejectedClaim"
    iam.add_client_id_to_open_id_connect_provider(OpenIDConnectProviderArn=arn, ClientID="quartet")
    iam.remove_client_id_from_open_id_connect_provider(OpenIDConnectProviderArn=arn, ClientID="other")
    assert assume()["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/builder/build"
    assert asked == ["/.well-known/openid-configuration", "/keys"]

    thumbprint = "9e99a48a9960b14926bb7f3b02e22da2b0ab7280"
    iam.update_open_id_connect_provider_thumbprint(OpenIDConnectProviderArn=arn, ThumbprintList=[thumbprint])
    iam.tag_open_id_connect_provider(OpenIDConnectProviderArn=arn, Tags=[{"Key": "stage", "Value": "test"}])
    iam.untag_open_id_connect_provider(OpenIDConnectProviderArn=arn, TagKeys=["team"])
    shown = iam.get_open_id_connect_provider(OpenIDConnectProviderArn=arn)
    assert (shown["Url"], shown["ClientIDList"]) == (url.removeprefix("http://"), ["quartet"])
    assert (shown["ThumbprintList"], shown["Tags"]) == ([thumbprint], [{"Key": "stage", "Value": "test"}])
    assert iam.list_open_id_connect_provider_tags(OpenIDConnectProviderArn=arn)["Tags"] == shown["Tags"]
    listed = iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]
    assert arn in [each["Arn"] for each in listed] and len(listed) == 2

    iam.delete_open_id_connect_provider(OpenIDConnectProviderArn=arn)
    assert code_of(assume) == "InvalidIdentityToken"
    assert code_of(lambda: iam.get_open_id_connect_provider(OpenIDConnectProviderArn=arn)) == "NoSuchEntity"
    [declared] = iam.list_open_id_connect_providers()["OpenIDConnectProviderList"]
    declared_arn = {"OpenIDConnectProviderArn": declared["Arn"]}
    assert code_of(lambda: iam.delete_open_id_connect_provider(**declared_arn)) == "UnmodifiableEntity"


def test_a_user_and_a_role_are_deleted_with_all_that_tools_ask_for(stock, root):
    """The calls of Ansible's iam_role, iam_instance_profile and iam_user, and of Terraform's force_destroy."""
    iam = stock("iam", root)
    web = {"InstanceProfileName": "web"}
    trust = json.dumps(document(Principal={"AWS": ACCOUNT}, Action="sts:AssumeRole"))
    iam.create_role(RoleName="web", Path="/svc/", AssumeRolePolicyDocument=trust)
    iam.update_role(RoleName="web", Description="serves", MaxSessionDuration=7200)
    assert iam.get_role(RoleName="web")["Role"]["MaxSessionDuration"] == 7200
    assert code_of(lambda: iam.get_instance_profile(**web)) == "NoSuchEntity"
    profile = iam.create_instance_profile(**web, Path="/svc/", Tags=[{"Key": "stage", "Value": "test"}])
    assert profile["InstanceProfile"]["Arn"] == f"arn:aws:iam::{ACCOUNT}:instance-profile/svc/web"
    iam.add_role_to_instance_profile(**web, RoleName="web")
    shown = iam.get_instance_profile(**web)["InstanceProfile"]
    assert [role["Arn"] for role in shown["Roles"]] == [f"arn:aws:iam::{ACCOUNT}:role/svc/web"]
    assert shown["Roles"][0]["AssumeRolePolicyDocument"] == json.loads(trust)
    assert iam.list_instance_profiles_for_role(RoleName="web")["InstanceProfiles"] == [shown]
    pages = iam.get_paginator("list_instance_profiles").paginate(PathPrefix="/svc/")
    assert [each["Tags"] for page in pages for each in page["InstanceProfiles"]] == [shown["Tags"]]
    iam.tag_instance_profile(**web, Tags=[{"Key": "team", "Value": "sea"}])
    iam.untag_instance_profile(**web, TagKeys=["stage"])
    assert iam.list_instance_profile_tags(**web)["Tags"] == [{"Key": "team", "Value": "sea"}]
    assert code_of(lambda: iam.delete_role(RoleName="web")) == "DeleteConflict"
    assert code_of(lambda: iam.delete_instance_profile(**web)) == "DeleteConflict"
    iam.remove_role_from_instance_profile(**web, RoleName="web")
    iam.delete_instance_profile(**web)
    iam.delete_role(RoleName="web")

    iam.create_user(UserName="wendy")
    wendy = {"UserName": "wendy"}
    assert code_of(lambda: iam.get_login_profile(**wendy)) == "NoSuchEntity"
    assert code_of(lambda: iam.delete_login_profile(**wendy)) == "NoSuchEntity"
    for ask, member in [
        (iam.list_access_keys, "AccessKeyMetadata"),
        (iam.list_mfa_devices, "MFADevices"),
        (iam.list_ssh_public_keys, "SSHPublicKeys"),
        (iam.list_signing_certificates, "Certificates"),
        (iam.list_service_specific_credentials, "ServiceSpecificCredentials"),
        (iam.list_attached_user_policies, "AttachedPolicies"),
        (iam.list_user_policies, "PolicyNames"),
        (iam.list_groups_for_user, "Groups"),
    ]:
        assert ask(**wendy)[member] == []
    iam.delete_user(**wendy)
    assert iam.list_virtual_mfa_devices()["VirtualMFADevices"] == []
    assert iam.list_account_aliases()["AccountAliases"] == []
    assert code_of(iam.get_account_password_policy) == "NoSuchEntity"
    assert code_of(iam.delete_account_password_policy) == "NoSuchEntity"
    summary = iam.get_account_summary()["SummaryMap"]
    assert (summary["InstanceProfiles"], summary["UsersQuota"], summary["AccountMFAEnabled"]) == (0, 5000, 0)


def test_answers_and_refusals_name_their_request(stock, root):
    iam, sts = stock("iam", root), stock("sts", root)
    answers = [iam.list_users(), iam.create_user(UserName="norma"), iam.delete_user(UserName="norma")]
    answers += [sts.get_caller_identity(), sts.get_session_token()]
    with pytest.raises(botocore.exceptions.ClientError) as refusal:
        iam.get_user(UserName="norma")
    for metadata in [answer["ResponseMetadata"] for answer in [*answers, refusal.value.response]]:
        assert metadata["RequestId"] == metadata["HTTPHeaders"]["x-amzn-requestid"] != ""


def test_refusals_have_their_documented_codes(stock, root):
    iam, sts = stock("iam", root), stock("sts", root)
    assert code_of(lambda: iam.get_user(UserName="nobody")) == "NoSuchEntity"
    iam.create_group(GroupName="readers")
    assert code_of(lambda: iam.create_group(GroupName="READERS")) == "EntityAlreadyExists"
    policy = {"PolicyName": "p", "PolicyDocument": "{}"}
    assert code_of(lambda: iam.put_group_policy(GroupName="readers", **policy)) == "MalformedPolicyDocument"
    assert code_of(lambda: iam.delete_role(RoleName="deployer")) == "UnmodifiableEntity"
    unknown = {"RoleArn": f"arn:aws:iam::{ACCOUNT}:role/nobody", "RoleSessionName": "nightly"}
    assert code_of(lambda: sts.assume_role(**unknown)) == "AccessDenied"
    assert code_of(stock("sts", ("AKIANOBODY", "x" * 40)).get_caller_identity) == "InvalidClientTokenId"
    assert code_of(stock("sts", (root[0], "x" * 40)).get_caller_identity) == "SignatureDoesNotMatch"


def test_an_account_is_looked_over_with_all_its_policies(stock, root):
    iam = stock("iam", root)
    reading = document(Action="s3:GetObject", Resource="arn:aws:s3:::photos/*")
    own = iam.create_policy(PolicyName="reading", PolicyDocument=json.dumps(reading))["Policy"]["Arn"]
    iam.create_user(UserName="iris", Tags=[{"Key": "team", "Value": "shop"}])
    iam.attach_user_policy(UserName="iris", PolicyArn=own)
    iam.put_user_policy(UserName="iris", PolicyName="put", PolicyDocument=json.dumps(document(Action="events:PutEvents", Resource="*")))

    pages = iam.get_paginator("get_account_authorization_details").paginate(PaginationConfig={"PageSize": 2})
    details = pages.build_full_result()
    [iris] = [user for user in details["UserDetailList"] if user["UserName"] == "iris"]
    assert iris["UserPolicyList"] == [{"PolicyName": "put", "PolicyDocument": document(Action="events:PutEvents", Resource="*")}]
    assert iris["AttachedManagedPolicies"] == [{"PolicyName": "reading", "PolicyArn": own}]
    assert iris["GroupList"] == [] and iris["Tags"] == [{"Key": "team", "Value": "shop"}]
    [policy] = [policy for policy in details["Policies"] if policy["Arn"] == own]
    assert policy["PolicyVersionList"][0]["Document"] == reading
    [deployer] = [role for role in details["RoleDetailList"] if role["RoleName"] == "deployer"]
    assert deployer["InstanceProfileList"] == []


def test_a_federated_user_does_what_both_its_policy_and_its_begetter_may(stock, root):
    iam = stock("iam", root)
    iam.create_user(UserName="lena")
    may = [{"Effect": "Allow", "Action": action, "Resource": "*"} for action in ("sts:GetFederationToken", "s3:*")]
    policy = json.dumps({"Version": "2012-10-17", "Statement": may})
    iam.put_user_policy(UserName="lena", PolicyName="own", PolicyDocument=policy)
    key = iam.create_access_key(UserName="lena")["AccessKey"]
    lena = key["AccessKeyId"], key["SecretAccessKey"]
    assert stock("sts", root).get_access_key_info(AccessKeyId=lena[0])["Account"] == ACCOUNT

    listing = json.dumps(document(Action=["s3:ListAllMyBuckets", "iam:*"], Resource="*"))
    issued = stock("sts", lena).get_federation_token(Name="build", Policy=listing)
    assert issued["FederatedUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:federated-user/build"
    secrets = issued["Credentials"]
    session = boto3.Session(secrets["AccessKeyId"], secrets["SecretAccessKey"], secrets["SessionToken"])
    assert stock("sts", session=session).get_caller_identity()["UserId"] == f"{ACCOUNT}:build"
    assert stock("s3", session=session).list_buckets()["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert code_of(lambda: stock("s3", session=session).create_bucket(Bucket="of-the-build")) == "AccessDenied"
    assert code_of(stock("iam", session=session).list_users) == "AccessDenied"
    assert code_of(stock("sts", session=session).get_session_token) == "AccessDenied"


def test_the_credential_report_has_the_keys_of_users(stock, root):
    iam = stock("iam", root)
    iam.create_user(UserName="kim")
    key = iam.create_access_key(UserName="kim")["AccessKey"]
    stock("sts", (key["AccessKeyId"], key["SecretAccessKey"])).get_caller_identity()
    assert iam.generate_credential_report()["State"] == "COMPLETE"
    report = iam.get_credential_report()
    assert report["ReportFormat"] == "text/csv"
    rows = {row["user"]: row for row in csv.DictReader(io.StringIO(report["Content"].decode()))}
    assert rows["kim"]["access_key_1_active"] == "true" and rows["kim"]["access_key_1_last_used_service"] == "sts"
    assert rows["kim"]["access_key_2_active"] == "false" and rows["kim"]["password_enabled"] == "false"
    assert rows["<root_account>"]["arn"] == f"arn:aws:iam::{ACCOUNT}:root"


def test_policies_are_simulated_before_a_request_is_made(stock, root, own_system, tmp_path):
    iam = stock("iam", root)
    iam.create_user(UserName="judy")
    allowed = document(Action="s3:GetObject", Resource="arn:aws:s3:::${aws:PrincipalTag/team}/*")
    iam.put_user_policy(UserName="judy", PolicyName="team", PolicyDocument=json.dumps(allowed))
    asked = {
        "PolicySourceArn": f"arn:aws:iam::{ACCOUNT}:user/judy",
        "ActionNames": ["s3:GetObject"],
        "ResourceArns": ["arn:aws:s3:::photos/cat"],
    }
    [result] = iam.simulate_principal_policy(**asked)["EvaluationResults"]
    assert (result["EvalDecision"], result["MissingContextValues"]) == ("implicitDeny", ["aws:PrincipalTag/team"])
    assert iam.get_context_keys_for_principal_policy(PolicySourceArn=asked["PolicySourceArn"])["ContextKeyNames"] == [
        "aws:PrincipalTag/team"
    ]
    iam.tag_user(UserName="judy", Tags=[{"Key": "team", "Value": "photos"}])
    [result] = iam.simulate_principal_policy(**asked)["EvaluationResults"]
    [statement] = result["MatchedStatements"]
    assert (result["EvalDecision"], statement["SourcePolicyId"]) == ("allowed", "user_judy_team")
    assert result["ResourceSpecificResults"][0]["EvalResourceDecision"] == "allowed"

    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "*", "Resource": "*"}]})
    command = ["iam", "simulate-custom-policy", "--policy-input-list", policy, "--action-names", "events:PutEvents"]
    environment = {
        **os.environ,
        "AWS_ENDPOINT_URL": own_system.urls["gateway"],
        "AWS_ACCESS_KEY_ID": root[0],
        "AWS_SECRET_ACCESS_KEY": root[1],
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    aws = pathlib.Path(sys.executable).parent / "aws"
    ran = subprocess.run([aws, *command], env=environment, check=True, capture_output=True, text=True)
    [denied] = json.loads(ran.stdout)["EvaluationResults"]
    assert (denied["EvalDecision"], denied["MatchedStatements"][0]["SourcePolicyId"]) == (
        "explicitDeny",
        "PolicyInputList.1",
    )


def test_a_boundary_limits_a_user_and_a_role(stock, root):
    iam = stock("iam", root)
    limit = iam.create_policy(PolicyName="limit", PolicyDocument=json.dumps(document(Action="s3:*", Resource="*")))
    arn = limit["Policy"]["Arn"]
    attached = {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": arn}
    created = iam.create_user(UserName="bounded", PermissionsBoundary=arn)["User"]
    assert created["PermissionsBoundary"] == attached
    everything = json.dumps(document(Action="*", Resource="*"))
    iam.put_user_policy(UserName="bounded", PolicyName="all", PolicyDocument=everything)
    key = iam.create_access_key(UserName="bounded")["AccessKey"]
    bounded = key["AccessKeyId"], key["SecretAccessKey"]
    assert code_of(stock("s3", bounded).list_buckets) == "done"
    assert code_of(stock("events", bounded).list_event_buses) == "AccessDeniedException"
    assert code_of(stock("iam", bounded).list_users) == "AccessDenied"

    trust = json.dumps(document(Principal={"AWS": ACCOUNT}, Action="sts:AssumeRole"))
    iam.create_role(RoleName="bounded", AssumeRolePolicyDocument=trust)
    iam.put_role_permissions_boundary(RoleName="bounded", PermissionsBoundary=arn)
    assert iam.get_role(RoleName="bounded")["Role"]["PermissionsBoundary"] == attached
    details = iam.get_account_authorization_details(Filter=["User", "Role", "LocalManagedPolicy"])
    found = [each for each in details["UserDetailList"] + details["RoleDetailList"] if "PermissionsBoundary" in each]
    assert [each["PermissionsBoundary"] for each in found] == [attached, attached]
    [policy] = [each for each in details["Policies"] if each["Arn"] == arn]
    assert (policy["AttachmentCount"], policy["PermissionsBoundaryUsageCount"]) == (0, 2)
    assert code_of(lambda: iam.delete_policy(PolicyArn=arn)) == "DeleteConflict"

    simulated = iam.simulate_principal_policy(
        PolicySourceArn=created["Arn"],
        ActionNames=["s3:GetObject", "events:PutEvents"],
        PermissionsBoundaryPolicyInputList=[json.dumps(document(Action="events:*", Resource="*"))],
    )
    decisions = [
        (each["EvalDecision"], each["PermissionsBoundaryDecisionDetail"]["AllowedByPermissionsBoundary"])
        for each in simulated["EvaluationResults"]
    ]
    assert decisions == [("implicitDeny", False), ("allowed", True)]

    iam.delete_user_permissions_boundary(UserName="bounded")
    iam.delete_role_permissions_boundary(RoleName="bounded")
    assert code_of(stock("iam", bounded).list_users) == "done"
    iam.delete_role(RoleName="bounded")
    iam.delete_policy(PolicyArn=arn)
