import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";

import type { ObjectTypeField, ObjectTypeKeys } from "../../../gen/quartet/customerprofile/v1/object_type_pb.ts";
import { ObjectTypeFieldSchema, ObjectTypeKeysSchema } from "../../../gen/quartet/customerprofile/v1/object_type_pb.ts";
import type { ObjectMapping } from "./object-mapping.ts";

/** An object type that needs no definition: objects can name its identifier as their type. */
export interface ObjectTemplate extends ObjectMapping {
  readonly templateId: string;
  readonly sourceName: string;
  readonly sourceObject: string;
  readonly allowProfileCreation: boolean;
}

/** `name: [source, target, content type]`; a source that is no template is under `_source.`, the target `_profile.`. */
type FieldRows = Readonly<Record<string, readonly [source: string, target?: string, contentType?: string]>>;
/** `key name: [field, ...identifiers]`. */
type KeyRows = Readonly<Record<string, readonly [field: string, ...identifiers: string[]]>>;

const template = (
  [sourceName, sourceObject, templateId = `${sourceName}-${sourceObject}`]: readonly [string, string, string?],
  fieldRows: FieldRows,
  keyRows: KeyRows,
  allowProfileCreation = true,
): ObjectTemplate => ({
  templateId,
  sourceName,
  sourceObject,
  allowProfileCreation,
  fields: Object.fromEntries(Object.entries(fieldRows).map(([name, row]) => [name, field(row)])),
  keys: Object.fromEntries(Object.entries(keyRows).map(([name, row]) => [name, key(row)])),
});

const field = ([source, target, contentType]: FieldRows[string]): ObjectTypeField => {
  const members: MessageInitShape<typeof ObjectTypeFieldSchema> = {
    source: source.includes("{{") ? source : `_source.${source}`,
  };
  if (target !== undefined) members.target = `_profile.${target}`;
  if (contentType !== undefined) members.contentType = contentType;
  return create(ObjectTypeFieldSchema, members);
};

const key = ([name, ...standardIdentifiers]: KeyRows[string]): ObjectTypeKeys =>
  create(ObjectTypeKeysSchema, { items: [{ fieldNames: [name], standardIdentifiers }] });

const own = ["UNIQUE", "PROFILE"] as const;
const phone = "PHONE_NUMBER";
const email = "EMAIL_ADDRESS";

const contactFields: FieldRows = {
  contactId: ["ContactId"],
  customerPhone: ["CustomerEndpoint.Address", undefined, phone],
};

/**
 * All templates by identifier. The unique key is the system's own identifier; identifiers of other systems are shared.
 */
export const objectTemplates: ReadonlyMap<string, ObjectTemplate> = new Map(
  [
    // A contact joins the contacts with the same number, but not a profile to which that number was given by hand.
    template(["CTR", "Contact", "CTR"], contactFields, {
      _ctrContactId: ["contactId", ...own],
      ctrCustomerPhone: ["customerPhone", "PROFILE", "SECONDARY"],
    }),
    template(
      ["CTR", "Contact", "CTR-AutoAssociateOnly"],
      contactFields,
      { _ctrContactId: ["contactId", ...own], _phone: ["customerPhone", "PROFILE", "SECONDARY"] },
      false,
    ),
    template(
      ["Salesforce", "Account"],
      {
        Id: ["Id", "Attributes.sfdcAccountId"],
        AccountNumber: ["AccountNumber", "AccountNumber"],
        IsPersonAccount: ["{{#if _source.IsPersonAccount}}INDIVIDUAL{{else}}BUSINESS{{/if}}", "PartyType"],
        Name: ["Name", "BusinessName"],
        FirstName: ["FirstName", "FirstName"],
        MiddleName: ["MiddleName", "MiddleName"],
        LastName: ["LastName", "LastName"],
        Phone: ["Phone", "PhoneNumber", phone],
        PersonMobilePhone: ["PersonMobilePhone", "MobilePhoneNumber", phone],
        PersonHomePhone: ["PersonHomePhone", "HomePhoneNumber", phone],
        PersonEmail: ["PersonEmail", "EmailAddress", email],
        PersonBirthDate: ["PersonBirthdate", "BirthDate"],
        PersonMailingStreet: ["PersonMailingStreet", "MailingAddress.Address1"],
        PersonMailingCity: ["PersonMailingCity", "MailingAddress.City"],
        PersonMailingState: ["PersonMailingState", "MailingAddress.State"],
        PersonMailingCountry: ["PersonMailingCountry", "MailingAddress.Country"],
        PersonMailingPostalCode: ["PersonMailingPostalCode", "MailingAddress.PostalCode"],
        BillingStreet: ["BillingStreet", "BillingAddress.Address1"],
        BillingCity: ["BillingCity", "BillingAddress.City"],
        BillingState: ["BillingState", "BillingAddress.State"],
        BillingCountry: ["BillingCountry", "BillingAddress.Country"],
        BillingPostalCode: ["BillingPostalCode", "BillingAddress.PostalCode"],
        ShippingStreet: ["ShippingStreet", "ShippingAddress.Address1"],
        ShippingCity: ["ShippingCity", "ShippingAddress.City"],
        ShippingState: ["ShippingState", "ShippingAddress.State"],
        ShippingCountry: ["ShippingCountry", "ShippingAddress.Country"],
        ShippingPostalCode: ["ShippingPostalCode", "ShippingAddress.PostalCode"],
      },
      { _salesforceAccountId: ["Id", ...own] },
    ),
    template(
      ["Salesforce", "Contact"],
      {
        Id: ["Id", "Attributes.sfdcContactId"],
        AccountId: ["AccountId"],
        FirstName: ["FirstName", "FirstName"],
        MiddleName: ["MiddleName", "MiddleName"],
        LastName: ["LastName", "LastName"],
        Phone: ["Phone", "PhoneNumber", phone],
        HomePhone: ["HomePhone", "HomePhoneNumber", phone],
        MobilePhone: ["MobilePhone", "MobilePhoneNumber", phone],
        Email: ["Email", "EmailAddress", email],
        Birthdate: ["Birthdate", "BirthDate"],
        OtherStreet: ["OtherStreet", "Address.Address1"],
        OtherCity: ["OtherCity", "Address.City"],
        OtherState: ["OtherState", "Address.State"],
        OtherCountry: ["OtherCountry", "Address.Country"],
        OtherPostalCode: ["OtherPostalCode", "Address.PostalCode"],
        MailingStreet: ["MailingStreet", "MailingAddress.Address1"],
        MailingCity: ["MailingCity", "MailingAddress.City"],
        MailingState: ["MailingState", "MailingAddress.State"],
        MailingCountry: ["MailingCountry", "MailingAddress.Country"],
        MailingPostalCode: ["MailingPostalCode", "MailingAddress.PostalCode"],
      },
      { _salesforceContactId: ["Id", ...own], _salesforceAccountId: ["AccountId", "PROFILE"] },
    ),
    template(
      ["Zendesk", "users"],
      {
        id: ["id"],
        external_id: ["external_id"],
        email: ["email", "EmailAddress", email],
        phone: ["phone", "PhoneNumber", phone],
      },
      { _zendeskUserId: ["id", ...own], _zendeskExternalId: ["external_id", "PROFILE"] },
    ),
    template(
      ["Marketo", "leads"],
      {
        id: ["id"],
        sfdcAccountId: ["sfdcAccountId"],
        sfdcContactId: ["sfdcContactId"],
        firstName: ["firstName", "FirstName"],
        middleName: ["middleName", "MiddleName"],
        lastName: ["lastName", "LastName"],
        email: ["email", "EmailAddress", email],
        phone: ["phone", "PhoneNumber", phone],
        mobilePhone: ["mobilePhone", "MobilePhoneNumber", phone],
        gender: ["gender", "GenderString"],
        dateOfBirth: ["dateOfBirth", "BirthDate"],
        address: ["address", "Address.Address1"],
        billingStreet: ["billingStreet", "BillingAddress.Address1"],
        billingCity: ["billingCity", "BillingAddress.City"],
        billingState: ["billingState", "BillingAddress.State"],
        billingCountry: ["billingCountry", "BillingAddress.Country"],
        billingPostalCode: ["billingPostalCode", "BillingAddress.PostalCode"],
      },
      {
        _marketoLeadId: ["id", ...own],
        _salesforceAccountId: ["sfdcAccountId", "PROFILE"],
        _salesforceContactId: ["sfdcContactId", "PROFILE"],
      },
    ),
    template(
      ["Servicenow", "sys_user"],
      {
        sys_id: ["sys_id"],
        first_name: ["first_name", "FirstName"],
        middle_name: ["middle_name", "MiddleName"],
        last_name: ["last_name", "LastName"],
        gender: ["gender", "GenderString"],
        email: ["email", "EmailAddress", email],
        phone: ["phone", "PhoneNumber", phone],
        home_phone: ["home_phone", "HomePhoneNumber", phone],
        mobile_phone: ["mobile_phone", "MobilePhoneNumber", phone],
        street: ["street", "Address.Address1"],
        city: ["city", "Address.City"],
        state: ["state", "Address.State"],
        country: ["country", "Address.Country"],
        zip: ["zip", "Address.PostalCode"],
      },
      { _serviceNowSystemId: ["sys_id", ...own] },
    ),
    template(
      ["Segment", "Identify"],
      {
        userId: ["userId"],
        firstName: ["traits.firstName", "FirstName"],
        lastName: ["traits.lastName", "LastName"],
        email: ["traits.email", "EmailAddress", email],
        phone: ["traits.phone", "PhoneNumber", phone],
        gender: ["traits.gender", "GenderString"],
        birthday: ["traits.birthday", "BirthDate"],
        street: ["traits.address.street", "Address.Address1"],
        city: ["traits.address.city", "Address.City"],
        state: ["traits.address.state", "Address.State"],
        country: ["traits.address.country", "Address.Country"],
        postalCode: ["traits.address.postalCode", "Address.PostalCode"],
      },
      { _segmentUserId: ["userId", ...own] },
    ),
    template(
      ["Shopify", "Customer"],
      {
        id: ["id"],
        first_name: ["first_name", "FirstName"],
        last_name: ["last_name", "LastName"],
        email: ["email", "EmailAddress", email],
        phone: ["phone", "PhoneNumber", phone],
        address1: ["default_address.address1", "Address.Address1"],
        address2: ["default_address.address2", "Address.Address2"],
        city: ["default_address.city", "Address.City"],
        province: ["default_address.province", "Address.Province"],
        country: ["default_address.country", "Address.Country"],
        zip: ["default_address.zip", "Address.PostalCode"],
      },
      { _shopifyCustomerId: ["id", ...own] },
    ),
  ]
    .toSorted((a, b) => (a.templateId < b.templateId ? -1 : 1))
    .map((each) => [each.templateId, each]),
);
