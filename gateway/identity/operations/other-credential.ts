import type {
  DeleteAccountPasswordPolicyRequest,
  DeleteLoginProfileRequest,
  GetAccountPasswordPolicyRequest,
  GetLoginProfileRequest,
  ListMFADevicesRequest,
  ListSAMLProvidersRequest,
  ListServerCertificatesRequest,
  ListServiceSpecificCredentialsRequest,
  ListSigningCertificatesRequest,
  ListSSHPublicKeysRequest,
  ListVirtualMFADevicesRequest,
} from "../../../gen/quartet/identity/v1/identity_service_pb.ts";
import { callersOwnUser } from "../access/caller-user.ts";
import type { Context } from "../application.ts";
import { noSuch } from "../domain/entities.ts";
import { userMessage } from "./user.ts";

/** A user has no password. Refuses, of a user that is there, too: NO_SUCH_ENTITY. */
export const getLoginProfile = async ({ userName }: GetLoginProfileRequest, context: Context): Promise<never> => {
  throw noSuch("login profile", nameOfUser(userName, context));
};

/** As `getLoginProfile`. */
export const deleteLoginProfile = async ({ userName }: DeleteLoginProfileRequest, context: Context): Promise<never> => {
  throw noSuch("login profile", nameOfUser(userName, context));
};

/** Lists nothing, of a user that is there. Refuses: NO_SUCH_ENTITY. */
export const listMFADevices = async ({ userName }: ListMFADevicesRequest, context: Context) => {
  nameOfUser(userName, context);
  return { mfaDevices: [], isTruncated: false };
};

/** Lists nothing. */
export const listVirtualMFADevices = async (_request: ListVirtualMFADevicesRequest) => ({
  virtualMfaDevices: [],
  isTruncated: false,
});

/** Lists nothing. */
export const listSAMLProviders = async (_request: ListSAMLProvidersRequest) => ({ samlProviderList: [] });

/** Lists nothing. */
export const listServerCertificates = async (_request: ListServerCertificatesRequest) => ({
  serverCertificateMetadataList: [],
  isTruncated: false,
});

/** Lists nothing, of a user that is there. Refuses: NO_SUCH_ENTITY. */
export const listSSHPublicKeys = async ({ userName }: ListSSHPublicKeysRequest, context: Context) => {
  nameOfUser(userName, context);
  return { sshPublicKeys: [], isTruncated: false };
};

/** Lists nothing, of a user that is there. Refuses: NO_SUCH_ENTITY. */
export const listSigningCertificates = async ({ userName }: ListSigningCertificatesRequest, context: Context) => {
  nameOfUser(userName, context);
  return { certificates: [], isTruncated: false };
};

/** Lists nothing, of a user that is there. Refuses: NO_SUCH_ENTITY. */
export const listServiceSpecificCredentials = async (
  { userName }: ListServiceSpecificCredentialsRequest,
  context: Context,
) => {
  nameOfUser(userName, context);
  return { serviceSpecificCredentials: [] };
};

/** An account has no rules for passwords. Refuses: NO_SUCH_ENTITY. */
export const getAccountPasswordPolicy = async (
  _request: GetAccountPasswordPolicyRequest,
  { caller }: Context,
): Promise<never> => {
  throw noPasswordPolicy(caller.accountId);
};

/** As `getAccountPasswordPolicy`. */
export const deleteAccountPasswordPolicy = async (
  _request: DeleteAccountPasswordPolicyRequest,
  { caller }: Context,
): Promise<never> => {
  throw noPasswordPolicy(caller.accountId);
};

const noPasswordPolicy = (accountId: string): Error => noSuch("account password policy", accountId);

/** The user that is asked for, or the caller's own; the root has no name. Throws NO_SUCH_ENTITY. */
const nameOfUser = (userName: string | undefined, context: Context): string => {
  const name = userName ?? callersOwnUser(context.caller);
  if (name !== undefined) return userMessage(context, name).userName;
  if (context.caller.isRoot) return "";
  throw noSuch("user", context.caller.principalArn);
};
