/** The domain that the profiles of the bench are in. */
export const domainName = "shop";

/** A type of a template that is built in, whose objects each create a profile. */
export const objectTypeName = "Zendesk-users";

/** How many profiles there are before the first call. */
export const knownCount = 1_000;

/** A profile with four search keys, three of which no other one has. */
export const profile = (number: number) => ({
  accountNumber: `A-${number}`,
  firstName: "Ann",
  lastName: "Lee",
  phoneNumber: `+1555${String(number).padStart(7, "0")}`,
  emailAddress: `ann.${number}@example.com`,
});

/** An object that no profile has keys of. */
export const ticket = (number: number): string => JSON.stringify({ id: number, email: `z.${number}@example.com` });

/** The account number of one of the profiles that there were before the first call. */
export const soughtAccount = (number: number): string => `A-${number % knownCount}`;
