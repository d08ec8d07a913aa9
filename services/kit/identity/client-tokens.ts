import type { IssuerRights } from "./authenticate.ts";

/**
 * The key pair that signs tokens which programs ask for with their access keys and show to services themselves. It is
 * one of its own, so that such a token is told from those between processes, and so that all of them can be ended.
 */
export const clientTokenIssuer = "client-tokens";

/** Whom a token names that is for all services, but only through the gateway. */
export const gatewayAudience = "gateway";

/** Tokens of programs name whoever asked for them. */
export const clientTokenRights: IssuerRights = { [clientTokenIssuer]: { anyCaller: true, isOfClients: true } };
