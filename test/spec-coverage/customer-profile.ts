import { readRows } from "./coverage-row.ts";

/** What is documented of customer profiles, and the test that shows each statement. */
export const customerProfileRows = readRows(
  "customer-profile",
  `
what.1a | Data stands in domains that have names. | operations/domain.test.ts > createDomain > answers what was made, and getDomain tells the same with empty statistics
what.1b | A domain holds its own data; a new one of the same name is empty. | operations/domain.test.ts > deleteDomain > lets a domain of the same name be made, new and empty, before the removal has run
what.2a | An account has several domains. | operations/domain.test.ts > listDomains > lists by name in pages, with a token as long as there are more
what.2b | A domain has several integrations. | operations/integration.test.ts > putIntegration > refuses, in this order
what.2c | A contact center instance belongs to at most one domain, and a domain to several instances. | operations/integration.test.ts > a contact center instance > is associated with one domain at most, and a domain with several instances
what.3a | A standard profile holds the attributes of one customer. | operations/profile.test.ts > createProfile > answers an identifier of 32 hexadecimal digits, under which the profile is found whole
what.3b | Profiles are found by searchable keys. | operations/search.test.ts > searchProfiles > finds by each kind of key as its values compare
what.4a | Objects are attached to profiles as their object type says. | operations/profile-object.test.ts > putProfileObject > attaches to the one profile that its key finds, and fills what was not set by hand
what.4b | An object type can be based on a template. | operations/object-type.test.ts > putProfileObjectType > takes fields and keys of a template where it has none of its own
what.5a | Data expires after the days of its domain. | operations/profile.test.ts > a profile's expiry > hides it after the domain's days since its last change
what.5b | Data expires after the days of its object type. | operations/profile-object.test.ts > objects > expire after their type's days, with what they gave, while their profile stays
what.6 | Domains, object types and integrations carry tags. | operations/integration.test.ts > tagResource, untagResource and listTagsForResource know integrations and object types

fields.domain.name | A domain's name is its own in the account. | operations/domain.test.ts > createDomain > makes one domain of two calls at the same time
fields.domain.expiration | A domain has a default number of days until data expires. | operations/profile.test.ts > a profile's expiry > hides it after the domain's days since its last change
fields.domain.dead-letter-queue | A domain can have the address of a dead letter queue. | operations/domain.test.ts > createDomain > answers what was made, and getDomain tells the same with empty statistics
fields.domain.dead-letter-queue.errors | Errors of ingestion go to the domain's dead letter queue. | ingestion/dead-letters.test.ts > an object that finds no place in a profile > is accepted and sent to the domain's dead letter queue, signed, with the reason
fields.domain.dead-letter-queue.cleared | An empty address takes the queue away. | operations/domain.test.ts > updateDomain > keeps what is not given, clears what is empty and moves the instant of the last change
fields.domain.encryption | Data is encrypted before it is stored. | erasure.test.ts > personal data > stands in no file of the service, before and after the database was closed
fields.domain.encryption.key | A domain can name the key that encrypts its data where no other is named; it can be changed and taken away. | operations/domain.test.ts > updateDomain > keeps profiles readable under another encryption key
fields.domain.tags | A domain carries tags. | operations/tag.test.ts > tags of a domain > are added, replaced, removed and listed, under any partition
fields.profile.id | A profile has an identifier of its own. | operations/profile.test.ts > createProfile > makes another profile with each call
fields.profile.attributes | A profile takes all documented members when it is made. | domain/profile-values.test.ts > every member of a request comes back in the profile
fields.profile.account-number | A profile has an account number that finds it. | operations/search.test.ts > searchProfiles > finds by each kind of key as its values compare
fields.profile.keys | A profile has any number of further keys. | operations/profile-key.test.ts > addProfileKey > is safe to repeat, and keeps earlier values
fields.profile-key | A key has a name and a list of values. | operations/profile-key.test.ts > addProfileKey > answers the key, and the profile is found by each of its values
fields.profile-key.predefined | The predefined keys search as their names say. | operations/search.test.ts > searchProfiles > finds by each kind of key as its values compare
fields.profile-key.vendors | Six predefined keys hold the identifiers of other vendors. | domain/search-key.test.ts > a key name > %s is documented as %s
fields.object-type.name | An object type has a name. | operations/object-type.test.ts > putProfileObjectType > answers all that was put, and getProfileObjectType tells the same
fields.object-type.description | An object type needs a description. | /contract/members.test.ts > the members of the contract > differ from the public model of $api only where it is meant
fields.object-type.no-creation | Without the permission to make profiles an object only joins one that is there. | operations/profile-object.test.ts > putProfileObject > attaches to the one profile that its key finds, and fills what was not set by hand
fields.object-type.no-creation.default | The permission is not given unless it is asked for. | operations/object-type.test.ts > putProfileObjectType > replaces a type and keeps its tags and the instant it was made
fields.object-type.creation | With the permission an object without a match makes a profile. | operations/profile-object.test.ts > putProfileObject > makes one profile of many objects of the same key at the same time
fields.object-type.encryption-key | An object type can name the key that encrypts its objects. | encryption/object-type-keys.test.ts > an object type's own key > that is disabled closes its objects at once, and nothing else; enabled, it opens them again
fields.object-type.expiration | An object type can have days of its own. | operations/profile-object.test.ts > objects > expire after their type's days, with what they gave, while their profile stays
fields.object-type.fields | An object type maps names to fields. | operations/profile-object.test.ts > putProfileObject > attaches to the one profile that its key finds, and fills what was not set by hand
fields.object-type.keys | An object type lists the keys that map data to a profile. | domain/matching.test.ts > an object belongs > by the keys $0 to the match $2
fields.object-type.tags | An object type carries tags. | operations/integration.test.ts > tagResource, untagResource and listTagsForResource know integrations and object types
fields.object-type.template | An object type can name a template. | operations/object-type.test.ts > putProfileObjectType > takes fields and keys of a template where it has none of its own
fields.object | An object is the text of a JSON object. | domain/object-source.test.ts > an object > is not the text %s
fields.object.unique-key | The service makes an object's unique key. | operations/profile-object.test.ts > putProfileObject > replaces the object with the same unique key, its keys and its fields, where it is
fields.template | A template is named after a system and has an identifier. | operations/object-type.test.ts > templates > listProfileObjectTypeTemplates lists them by identifier, in pages
fields.template.used | An object whose type is named as a template is mapped by that template. | operations/profile-object.test.ts > putProfileObject > makes contacts of one number one inferred profile with only that number
fields.integration | An integration has a domain, an address, an object type and tags. | operations/integration.test.ts > putIntegration > answers what was put; getIntegration and listIntegrations tell the same
fields.integration.flow | A flow definition controls how data is fetched. | work/flow/flow.test.ts > a flow on demand > reads what begins with its prefix, in all formats
fields.taggable | Tagged resources are named by ARN. | domain/resource-name.test.ts > the name %s is read as what it names

operations.add_profile_key | Adds a key value to a profile. | operations/profile-key.test.ts > addProfileKey > answers the key, and the profile is found by each of its values
operations.create_domain | Makes a domain. | operations/domain.test.ts > createDomain > answers what was made, and getDomain tells the same with empty statistics
operations.create_profile | Makes a profile. | operations/profile.test.ts > createProfile > answers an identifier of 32 hexadecimal digits, under which the profile is found whole
operations.delete_domain | Deletes a domain and all data of customers in it. | erasure.test.ts > deleteDomain takes the domain's key out of the files, so that no copy of its records can be read
operations.delete_integration | Removes an integration from a domain. | operations/integration.test.ts > deleteIntegration > removes it, and a second call is refused, as getIntegration is
operations.delete_profile | Deletes a profile and all that belongs to it. | erasure.test.ts > deleteProfile > leaves no record of the profile, and other profiles whole
operations.delete_profile_key | Removes a key from a profile. | operations/profile-key.test.ts > addProfileKey > is safe to repeat, and keeps earlier values
operations.delete_profile_object | Removes one object of a profile. | operations/profile-object.test.ts > deleteProfileObject > takes the object, its keys and its fields away, and a second call is refused
operations.delete_profile_object_type | Removes a type, its objects and the fields that came from them. | operations/object-type.test.ts > deleteProfileObjectType > removes its objects, their keys and the fields that came from them; profiles and manual fields stay
operations.delete_profile_object_type.integrations | Disables the integrations of the type. | operations/object-type.test.ts > deleteProfileObjectType > disables the integrations of the type, and no others
operations.get_domain | Tells a domain. | operations/domain.test.ts > createDomain > answers what was made, and getDomain tells the same with empty statistics
operations.get_integration | Tells an integration. | operations/integration.test.ts > putIntegration > answers what was put; getIntegration and listIntegrations tell the same
operations.get_profile_object_type | Tells an object type. | operations/object-type.test.ts > putProfileObjectType > answers all that was put, and getProfileObjectType tells the same
operations.get_profile_object_type_template | Tells a template. | operations/object-type.test.ts > templates > getProfileObjectTypeTemplate tells one, and refuses one that is not there
operations.list_account_integrations | Lists the account's integrations of an address. | operations/integration.test.ts > listAccountIntegrations lists the domains that read from one address, in pages, of the own account
operations.list_domains | Lists the account's domains. | operations/domain.test.ts > listDomains > lists by name in pages, with a token as long as there are more
operations.list_integrations | Lists a domain's integrations. | operations/integration.test.ts > putIntegration > answers what was put; getIntegration and listIntegrations tell the same
operations.list_integrations.pages | Lists them in pages. | operations/integration.test.ts > listIntegrations lists the integrations of one domain by address, in pages
operations.list_profile_object_type_templates | Lists templates. | operations/object-type.test.ts > templates > listProfileObjectTypeTemplates lists them by identifier, in pages
operations.list_profile_object_types | Lists a domain's object types. | operations/object-type.test.ts > listProfileObjectTypes lists by name, in pages
operations.list_profile_objects | Lists a profile's objects of a type. | operations/profile-object.test.ts > listProfileObjects > lists in pages, filters by a key, and refuses what is not there
operations.list_tags_for_resource | Lists tags. | operations/tag.test.ts > tags of a domain > are added, replaced, removed and listed, under any partition
operations.put_integration | Adds an integration. | operations/integration.test.ts > putIntegration > makes the address where none is given, and keeps tags when it replaces
operations.put_profile_object | Adds an object to a profile. | operations/profile-object.test.ts > putProfileObject > attaches to the one profile that its key finds, and fills what was not set by hand
operations.put_profile_object_type | Defines an object type. | operations/object-type.test.ts > putProfileObjectType > answers all that was put, and getProfileObjectType tells the same
operations.search_profiles | Searches by name, phone number, mail address, account number or another key. | operations/search.test.ts > searchProfiles > finds by each kind of key as its values compare
operations.search_profiles.pages | Searches in pages. | operations/search.test.ts > searchProfiles > gives every profile once over its pages, in the order of identifiers
operations.tag_resource | Adds tags; a key that is there gets the new value. | /kit/tags/tags.test.ts > adding keeps other tags and replaces the value of an existing one
operations.untag_resource | Removes tags. | operations/tag.test.ts > tags of a domain > are added, replaced, removed and listed, under any partition
operations.update_domain | Changes a domain. | operations/domain.test.ts > updateDomain > keeps what is not given, clears what is empty and moves the instant of the last change
operations.update_profile | Changes a profile. | operations/profile.test.ts > updateProfile > keeps what is not given and removes what is empty: fields, address lines and attributes
operations.required-members | Each operation declares the members that it requires. | /contract/members.test.ts > the members of the contract > differ from the public model of $api only where it is meant

rules.1a | An empty text in an update takes a value away. | operations/profile.test.ts > updateProfile > keeps what is not given and removes what is empty: fields, address lines and attributes
rules.1b | What an update leaves out stays. | operations/profile.test.ts > updateProfile > keeps what is not given and removes what is empty: fields, address lines and attributes
rules.2a | The type of an object must be there. | operations/profile-object.test.ts > putProfileObject > refuses, in this order
rules.2b | An object without a profile makes an inferred one that has only a phone number. | operations/profile-object.test.ts > putProfileObject > makes contacts of one number one inferred profile with only that number
rules.2c | Later contacts of the same number join the same inferred profile. | operations/profile-object.test.ts > putProfileObject > makes contacts of one number one inferred profile with only that number
rules.2d | An object fills the standard profile as its type says. | operations/profile-object.test.ts > putProfileObject > attaches to the one profile that its key finds, and fills what was not set by hand
rules.3 | The permission of an object type to make profiles holds when objects are put. | operations/profile-object.test.ts > putProfileObject > refuses, in this order
rules.4 | An integration belongs to one domain. | operations/integration.test.ts > listAccountIntegrations lists the domains that read from one address, in pages, of the own account
rules.5 | A search names a predefined or a custom key. | operations/search.test.ts > searchProfiles > finds by each kind of key as its values compare

events.dead-letters | Errors of ingestion are told to the dead letter queue, where there is one. | ingestion/dead-letters.test.ts > an object that finds no place in a profile > is refused without a queue, without an endpoint of queues, and when it is no valid object

limits.tags | A resource has 50 tags. | operations/tag.test.ts > tags of a domain > are at most 50
limits.tags.existing | Further tags add keys and replace the values of those that are there. | operations/tag.test.ts > tags of a domain > are added, replaced, removed and listed, under any partition
`,
);
