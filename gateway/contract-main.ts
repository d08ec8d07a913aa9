import { checkContract } from "./services.ts";

/** Checks the contract before bundles are made of it, so that the gateway need not check it at each start. */
checkContract();
