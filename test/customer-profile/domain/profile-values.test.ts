import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { CreateProfileRequestSchema } from "../../../gen/quartet/customerprofile/v1/customer_profile_service_pb.ts";
import { profileOf, valuesOf } from "../../../services/customer-profile/domain/profile-values.ts";

test("every member of a request comes back in the profile", () => {
  const members = {
    accountNumber: "A-1",
    additionalInformation: "prefers tea",
    partyType: "INDIVIDUAL",
    businessName: "Lee & Co",
    firstName: "Ann",
    middleName: "Mary",
    lastName: "Lee",
    birthDate: "07/12/1980",
    gender: "FEMALE",
    phoneNumber: "1",
    mobilePhoneNumber: "2",
    homePhoneNumber: "3",
    businessPhoneNumber: "4",
    emailAddress: "a@example.com",
    personalEmailAddress: "b@example.com",
    businessEmailAddress: "c@example.com",
    address: { address1: "l1", address2: "l2", address3: "l3", address4: "l4", city: "Ghent" },
    shippingAddress: { county: "x", state: "y", province: "z", country: "BE", postalCode: "9000" },
    mailingAddress: { city: "Bruges" },
    billingAddress: { city: "Ostend" },
    attributes: { "shoe.size": "38", "": "nameless", constructor: "c" },
    partyTypeString: "person",
    genderString: "woman",
    profileType: "PROFILE",
    engagementPreferences: { phone: [{ keyName: "_phone", contactType: "HomePhoneNumber" }] },
  };
  const profile = profileOf("0".repeat(32), valuesOf(create(CreateProfileRequestSchema, members)));
  expect(profile).toMatchObject(members);
});

test("of attributes that no profile may have together only so many are read", () => {
  const attributes = Object.fromEntries(
    Array.from({ length: 400_000 }, (_each, index) => [`a${100_000 + index}`, "b"]),
  );
  expect(valuesOf(create(CreateProfileRequestSchema, { attributes })).size).toBe(13_474);
});

test("members that a request does not give are not in the profile", () => {
  const profile = profileOf(
    "0".repeat(32),
    valuesOf(create(CreateProfileRequestSchema, { firstName: "Ann", address: {} })),
  );
  expect(JSON.parse(JSON.stringify(profile))).toEqual({
    $typeName: "quartet.customerprofile.v1.Profile",
    profileId: "00000000000000000000000000000000",
    foundByItems: [],
    firstName: "Ann",
    attributes: {},
  });
});
