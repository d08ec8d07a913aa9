/** An issuer without its scheme, as ARNs and condition keys have it: `login.example.com/shop`. */
export const providerName = (issuer: string): string => issuer.replace(/^https?:\/\//, "");

/** `arn:aws:iam::111122223333:oidc-provider/login.example.com/shop`. */
export const providerArn = (accountId: string, issuer: string): string =>
  `arn:aws:iam::${accountId}:oidc-provider/${providerName(issuer)}`;
