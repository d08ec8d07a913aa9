/**
 * The fields of a profile as paths: `FirstName`, `Address.City`, `Attributes.` and any name. A path is the documented
 * name of the member, so mappings of object types and stored records use the same names as requests.
 */

/** A member with one text. */
export interface TextField {
  readonly path: string;
  readonly member:
    | "accountNumber"
    | "additionalInformation"
    | "partyType"
    | "businessName"
    | "firstName"
    | "middleName"
    | "lastName"
    | "birthDate"
    | "gender"
    | "phoneNumber"
    | "mobilePhoneNumber"
    | "homePhoneNumber"
    | "businessPhoneNumber"
    | "emailAddress"
    | "personalEmailAddress"
    | "businessEmailAddress"
    | "partyTypeString"
    | "genderString"
    | "profileType";
}

export const textFields: readonly TextField[] = [
  { path: "AccountNumber", member: "accountNumber" },
  { path: "AdditionalInformation", member: "additionalInformation" },
  { path: "PartyType", member: "partyType" },
  { path: "BusinessName", member: "businessName" },
  { path: "FirstName", member: "firstName" },
  { path: "MiddleName", member: "middleName" },
  { path: "LastName", member: "lastName" },
  { path: "BirthDate", member: "birthDate" },
  { path: "Gender", member: "gender" },
  { path: "PhoneNumber", member: "phoneNumber" },
  { path: "MobilePhoneNumber", member: "mobilePhoneNumber" },
  { path: "HomePhoneNumber", member: "homePhoneNumber" },
  { path: "BusinessPhoneNumber", member: "businessPhoneNumber" },
  { path: "EmailAddress", member: "emailAddress" },
  { path: "PersonalEmailAddress", member: "personalEmailAddress" },
  { path: "BusinessEmailAddress", member: "businessEmailAddress" },
  { path: "PartyTypeString", member: "partyTypeString" },
  { path: "GenderString", member: "genderString" },
  { path: "ProfileType", member: "profileType" },
];

/** The members with an address; each of its lines has a path of its own. */
export const addressFields = [
  { path: "Address", member: "address" },
  { path: "ShippingAddress", member: "shippingAddress" },
  { path: "MailingAddress", member: "mailingAddress" },
  { path: "BillingAddress", member: "billingAddress" },
] as const;

export const addressLines = [
  { path: "Address1", member: "address1" },
  { path: "Address2", member: "address2" },
  { path: "Address3", member: "address3" },
  { path: "Address4", member: "address4" },
  { path: "City", member: "city" },
  { path: "County", member: "county" },
  { path: "State", member: "state" },
  { path: "Province", member: "province" },
  { path: "Country", member: "country" },
  { path: "PostalCode", member: "postalCode" },
] as const;

/** The beginning of an attribute's path; its name follows, which may contain any character. */
export const attributesPrefix = "Attributes.";

/** The path of the preferences: one JSON text, because they are replaced as a whole. */
export const engagementPreferencesPath = "EngagementPreferences";

export const phonePaths = ["PhoneNumber", "MobilePhoneNumber", "HomePhoneNumber", "BusinessPhoneNumber"] as const;
export const emailPaths = ["EmailAddress", "PersonalEmailAddress", "BusinessEmailAddress"] as const;
export const namePaths = ["FirstName", "MiddleName", "LastName"] as const;
