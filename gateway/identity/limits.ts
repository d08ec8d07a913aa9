/** What an account may have, and how large policies may be in characters without white space. */
export const limits = {
  usersMax: 5_000,
  groupsMax: 300,
  rolesMax: 1_000,
  policiesMax: 1_500,
  keysPerUserMax: 2,
  groupsPerUserMax: 10,
  attachedPoliciesMax: 10,
  policyVersionsMax: 5,
  identityProvidersMax: 100,
  clientIdsPerProviderMax: 100,
  thumbprintsPerProviderMax: 5,
  tagsMax: 50,
  managedPolicyCharactersMax: 6_144,
  inlinePoliciesCharactersMax: { user: 2_048, group: 5_120, role: 10_240 },
  trustPolicyCharactersMax: 4_096,
  pageItemsDefault: 100,
  pageBytesMax: 3 * 1024 * 1024,
  pageTokenLifetimeMs: 86_400_000,
  /** Within this time a use of a key is written. */
  keyUseWrittenMs: 60_000,
} as const;
