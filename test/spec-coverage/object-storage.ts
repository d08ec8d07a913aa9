import { readRows } from "./coverage-row.ts";
import { objectStorageOperationRows } from "./object-storage-operations.ts";

/** What is documented of object storage but for its operations, and the test that shows each statement. */
const statements = readRows(
  "object-storage",
  `
what.1a | Objects stand under keys in buckets. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
what.1b | One object has 5 TB at most. | limits.test.ts > an installation allows what is documented
what.2 | An upload is started, its parts are sent, and it is completed or aborted. | operations/multipart-completion.test.ts > completeMultipartUpload > makes one object of the parts, with what the upload was started with, and no byte is copied
what.3.copies | Objects are copied. | operations/copy.test.ts > copyObject > copies content and metadata but not the storage class, and shares the bytes until neither is left
what.3.acl | ACLs give permissions. | operations/acl-grants.test.ts > an ACL in a request > gives the permissions that it grants, and no others
what.3.encryption | Objects are encrypted by the service. | encryption/at-rest.test.ts > content at rest > is found neither in the database nor in a file, nor is a caller's key
what.3.storage-classes | Objects have storage classes. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
what.3.object-lock | Objects can be locked. | operations/object-lock.test.ts > a retention > keeps its version until its instant; a plain deletion still puts a delete marker
what.3.versioning | Objects have versions. | operations/bucket-versioning.test.ts > a bucket that keeps versions > reads, tags and deletes each version by its id, and makes the next one current
what.3.configurations | Buckets have configurations of many kinds. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
what.4a | A bucket is addressed by its name. | operations/bucket.test.ts > createBucket > makes a bucket that is then there, empty and the caller's
what.4b | A bucket is addressed through an access point. | access/access-points.test.ts > an access point > is another name of its bucket: %s
what.4c | A bucket is addressed through an on-premises deployment. | access/access-points.test.ts > an access point on premises > has one storage class: %s

fields.bucket | A bucket has a name and an owner account. | operations/bucket.test.ts > listBuckets > lists the caller's buckets by name, page by page, with a prefix
fields.bucket.arn | A bucket can be named by the ARN of an access point or on premises. | access/access-points.test.ts > an access point > is another name of its bucket: %s
fields.object | An object has a key, metadata, an ETag, tags and a storage class. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
fields.object.versions | An object has a version id. | operations/bucket-versioning.test.ts > a bucket that keeps versions > reads, tags and deletes each version by its id, and makes the next one current
fields.object.acl | An object has an ACL. | operations/acl-grants.test.ts > an ACL in a request > %j of an object means %j, however the object is made
fields.object.lock | An object has a lock mode and a legal hold. | operations/object-lock.test.ts > reads show the lock to those who may read it, each part by its own permission
fields.upload | An upload has an id, a bucket, a key and parts. | operations/multipart-upload.test.ts > listMultipartUploads > lists open uploads by key, the oldest of one key first, page by page
fields.part | A part has a number, and an ETag that is answered when it is sent. | operations/multipart-upload.test.ts > listParts > lists parts by number, page by page, with their checksums
fields.configuration | Analytics, tiering, inventory and metrics configurations have an id. | operations/identified-configuration.test.ts > configurations of %s > are read back as they were put, replaced by their ids, listed, and deleted one by one
fields.access-point-host | An access point has a host name of its name and account. | /gateway/pipeline/access-points.test.ts > an access point has a host name of its name and account
fields.on-premises-host | An on-premises access point has a host name with its outpost as well. | /gateway/pipeline/access-points.test.ts > an access point on premises has a host name with its deployment as well
fields.grantees | Grantees are written as type and value: an id, a group or a mail address. | operations/acl-grants.test.ts > an ACL in a request > as a document names each grantee by its type: an id, a group or an address
fields.grants | A header of grants holds several, separated by commas. | operations/acl-grants.test.ts > an ACL in a request > %j of a bucket means %j

states.started | Starting answers an id for all later requests of the upload. | operations/multipart-completion.test.ts > completeMultipartUpload > makes one object of the parts, with what the upload was started with, and no byte is copied
states.part | A part of a known upload is stored. | operations/part.test.ts > uploadPart > refuses in this order and replaces the part of its number
states.completed | Parts in ascending order become one object. | operations/multipart-completion.test.ts > completeMultipartUpload > makes one object of the parts, with what the upload was started with, and no byte is copied
states.completed.early-status | The status 200 comes first, then white space while the work goes on, then the document. | /gateway/availability.test.ts > limits > a method with an early status keeps its connection alive with white space
states.completed.retry | A completion can be tried again. | operations/multipart-completion.test.ts > completeMultipartUpload > answers the same again, also to those who ask at once, for a day
states.not-completed | A completion that is refused leaves the upload open. | operations/multipart-completion.test.ts > completeMultipartUpload > refuses in this order, and the upload stays open
states.aborted | After an abort no part can be sent. | operations/multipart-upload.test.ts > abortMultipartUpload > frees the parts and refuses everything afterwards
states.aborted.storage | An abort frees the storage of the parts. | operations/multipart-upload.test.ts > abortMultipartUpload > frees the parts and refuses everything afterwards
states.aborted.running | A part that was being sent during the abort leaves nothing behind once aborted again. | operations/multipart-upload.test.ts > abortMultipartUpload > leaves nothing of a part that was being sent meanwhile
states.aborted.verified | Listing the parts shows that none is left. | operations/multipart-upload.test.ts > abortMultipartUpload > frees the parts and refuses everything afterwards
states.lifecycle | A lifecycle rule aborts uploads that are not completed in so many days. | work/lifecycle.test.ts > lifecycle rules, when they are applied, > abort uploads that were started too long ago, and free their parts
states.copy-versions | A copy into a bucket with versions gets a version id of its own, told in a header. | operations/bucket-versioning.test.ts > a bucket that keeps versions > copies versions, also an older one over its own key
states.copy-null | A copy into a bucket without versions has the version null. | operations/copy.test.ts > copyObject > makes the null version where the bucket keeps no versions
states.copy-delete-marker | A delete marker as source counts as a deleted object. | operations/bucket-versioning.test.ts > a bucket that keeps versions > copies versions, also an older one over its own key
states.copy-archived | An archived object is restored before it can be copied. | operations/restore.test.ts > restoreObject > makes an object readable after the delay, for its days and to the next midnight

endpoints.expected-owner | A bucket of another account than the expected one is refused with 403. | access/guard.test.ts > guard > every operation on a bucket with %o by %s ends as %s
endpoints.request-payer | Uploads and copies take the requester's consent to pay. | access/request-charged.test.ts > the answers to a requester who pays say so, in every operation
endpoints.header-names | Parameters with the service's prefix, and standard names, are headers. | /gateway/transcoding.test.ts > transcoding > $what ($dialect)
endpoints.containers | Container names are documents in the body. | /gateway/transcoding.test.ts > transcoding > $what ($dialect)
endpoints.copy-source | A copy source is a bucket and a key, percent-encoded. | operations/copy.test.ts > copyObject > copies small content, which lies in the database, the same way
endpoints.copy-source.access-point | A copy source can be an object ARN of an access point. | access/access-points.test.ts > an access point > is the source of a copy: %s
endpoints.copy-source.on-premises | A copy source can be an object ARN on premises. | access/access-points.test.ts > an access point > is the source of a copy: %s
endpoints.copy-source.version | A copy source can name a version. | operations/bucket-versioning.test.ts > a bucket that keeps versions > copies versions, also an older one over its own key
endpoints.copy-source.latest | Without a version the latest is copied. | operations/bucket-versioning.test.ts > a bucket that keeps versions > copies versions, also an older one over its own key

parameters.content-headers | The standard headers of content are kept and answered. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
parameters.content-headers.copy | A copy keeps the standard headers, or replaces them where it is told to. | operations/copy.test.ts > copyObject > replaces metadata and tags where it is told to, also on the object itself
parameters.acl | A canned ACL sets the ACL. | operations/acl-grants.test.ts > an ACL in a request > %j of an object means %j, however the object is made
parameters.grants | Explicit grants set the ACL. | operations/acl-grants.test.ts > an ACL in a request > %j of an object means %j, however the object is made
parameters.acl-or-grants | A canned ACL and grants are not given together. | operations/access-control.test.ts > putObjectAcl with %o by the account %s ends as %s
parameters.acl.on-premises | ACLs are not taken on premises. | access/access-points.test.ts > an access point on premises > takes no ACL: %o
parameters.metadata | Metadata is kept with the object. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
parameters.legal-hold | A legal hold can be set. | operations/object-lock.test.ts > a legal hold > keeps its version, whatever its retention is, until it is lifted
parameters.lock-mode | A lock mode can be set. | operations/object-lock.test.ts > a retention > of an upload and of a copy is the one that they were started with
parameters.lock-until | A date can be set until which the lock holds. | operations/object-lock.test.ts > a retention > of an upload and of a copy is the one that they were started with
parameters.encryption | The service encrypts with the algorithm that is named. | encryption/managed-keys.test.ts > an object under a managed key > that is put with %o is read, and shown as %o
parameters.encryption.kms | A managed key encrypts; the service's own where none is named. | encryption/managed-keys.test.ts > an object under a managed key > that is put with %o is read, and shown as %o
parameters.encryption.kms-signature | Requests for such objects are over SSL or signed with version 4. | encryption/permissions.test.ts > a managed key > is used over TLS or with signatures of version 4
parameters.encryption.bucket-key | A bucket key can be used, and a copy changes no setting of its bucket. | operations/bucket-encryption.test.ts > putBucketEncryption, getBucketEncryption and deleteBucketEncryption: the default > applies to objects, copies and uploads that say nothing, and ends when it is deleted
parameters.encryption.context | An encryption context is base64 of JSON. | encryption/managed-keys.test.ts > an object under a managed key > shows its encryption context to whoever writes it, and needs it
parameters.customer-key | A customer's key encrypts and is never stored. | encryption/at-rest.test.ts > content at rest > is found neither in the database nor in a file, nor is a caller's key
parameters.customer-key.digest | The digest of a customer's key is checked. | encryption/customer-keys.test.ts > an object under a key of the caller > that is put with %o is refused with %s
parameters.storage-class | STANDARD is the storage class unless another is named. | operations/copy.test.ts > copyObject > copies content and metadata but not the storage class, and shares the bytes until neither is left
parameters.storage-class.on-premises | There is one storage class on premises. | access/access-points.test.ts > an access point on premises > has one storage class: %s
parameters.tagging | Tags are given as query parameters. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
parameters.website-redirect | A redirect for websites is kept with the object. | operations/object-write.test.ts > putObject > stores content and everything that is said about it
parameters.copy-if-match | A copy can ask for an ETag of its source. | operations/copy.test.ts > copyObject > a request with %o ends as %s
parameters.copy-if-none-match | A copy can ask for another ETag of its source. | operations/copy.test.ts > copyObject > a request with %o ends as %s
parameters.copy-if-modified-since | A copy can ask for a source that was changed since a time. | operations/copy.test.ts > copyObject > a request with %o ends as %s
parameters.copy-if-unmodified-since | A copy can ask for a source that was not changed since a time. | operations/copy.test.ts > copyObject > a request with %o ends as %s
parameters.copy-customer-key | A copy opens its source with the customer's key of that object. | encryption/customer-keys.test.ts > a copy between keys > with %o shares files only under the same key: there are %i
parameters.metadata-directive | Metadata is copied unless it is to be replaced. | operations/copy.test.ts > copyObject > replaces metadata and tags where it is told to, also on the object itself
parameters.metadata-directive.acl | The ACL is not copied but private to the requester. | operations/acl-grants.test.ts > the ACL of a copy > is not that of its source, but private to whoever copies
parameters.tagging-directive | Tags are copied unless they are to be replaced. | operations/copy.test.ts > copyObject > replaces metadata and tags where it is told to, also on the object itself
parameters.source-owner | A source of another account than the expected one is refused with 403. | operations/copy.test.ts > copyObject > a request with %o ends as %s

rules.1a | A copy is one atomic action up to a size, beyond which it is refused. | operations/copy.test.ts > copyObject > refuses a source that is too large, and a caller who may not read it
rules.1b | Larger objects are copied by parts. | operations/part.test.ts > uploadPartCopy > makes parts of ranges of an object without storing their bytes again
rules.2a | A true if-match wins over a false if-unmodified-since. | operations/copy.test.ts > copyObject > a request with %o ends as %s
rules.2b | A false if-none-match wins over a true if-modified-since with 412. | operations/copy.test.ts > copyObject > a request with %o ends as %s
rules.3a | A copy that fails after its status was sent carries its error in the body. | /gateway/pipeline/late-copies.test.ts > a copy that takes long > and fails then carries its error in the body
rules.3b | The answer to a copy over HTTP/1.1 is chunked. | /gateway/pipeline/late-copies.test.ts > a copy that is quick is answered in chunks too
rules.4 | A copy between regions through acceleration is refused with 400. | /gateway/pipeline/storage-regions.test.ts > a copy from another region by the host of %s is refused with 400
rules.5 | A copy is charged by the destination's class and region. | operations/copy.test.ts > copyObject > has the storage class that it asks for, in the region of its bucket, whatever its source has
rules.6a | A bucket stands in the first region unless another is named. | operations/bucket.test.ts > getBucketLocation > tells nothing for the first region
rules.6b | Another region is named in the configuration. | operations/bucket.test.ts > createBucket > outside the first region asks for the region by name and tells it
rules.6c | A bucket in another region can answer with 307. | /gateway/pipeline/storage-regions.test.ts > a request for a bucket of another region is redirected there with 307
rules.6d | Nobody makes a bucket without a signature. | operations/bucket.test.ts > createBucket > refuses a caller who signed nothing
rules.7a | A bucket with an ACL needs two permissions. | access/permissions.test.ts > %s with %j needs %j
rules.7b | A private bucket needs one permission. | access/permissions.test.ts > %s with %j needs %j
rules.7c | A bucket with object lock needs further permissions. | access/permissions.test.ts > %s with %j needs %j
rules.8a | An upload with a managed key needs two permissions on the key. | encryption/permissions.test.ts > a managed key > with the permissions %j opens %o
rules.8b | Parts repeat the customer's key of the upload. | encryption/customer-keys.test.ts > an upload under a key of the caller > gets each part with the same key
rules.9 | Each request of an upload is signed on its own. | /polyglot/tests/test_botocore_export.py > test_an_object_is_made_of_parts

authentication.1a | A copy is authenticated. | operations/acl-grants.test.ts > the ACL of a copy > needs a caller who signed, whatever the source allows
authentication.1b | The requester may read the source and write the destination. | operations/copy.test.ts > copyObject > refuses a source that is too large, and a caller who may not read it
authentication.2 | Nobody makes a bucket without a signature. | operations/bucket.test.ts > createBucket > refuses a caller who signed nothing
authentication.3 | All headers with the prefix are signed. | /gateway/signature/refusals.test.ts > a request signed by header > with %s is refused
authentication.4 | Objects with a managed key are asked for over SSL or with version 4. | encryption/permissions.test.ts > a managed key > is used over TLS or with signatures of version 4
authentication.5a | Deleting a policy without the permission is refused with 403. | operations/bucket-policy.test.ts > %s with the permission ends as %s in the owner's account, as %s in another
authentication.5b | Deleting a policy from another account is refused with 405. | operations/bucket-policy.test.ts > %s with the permission ends as %s in the owner's account, as %s in another
authentication.5c | The owner's root user may always delete the policy. | operations/bucket-policy.test.ts > putBucketPolicy > that locks its author out is refused, unless it is confirmed; the owner's root is never locked out
authentication.6a | Configurations need the permission that puts them. | operations/bucket-policy.test.ts > configurations need the permission that puts them, which the owner has and can grant
authentication.6b | The owner has these permissions and can grant them. | operations/bucket-policy.test.ts > configurations need the permission that puts them, which the owner has and can grant

events.configuration | Notifications are configured by reading and putting a document. | operations/bucket-notification.test.ts > putBucketNotificationConfiguration and getBucketNotificationConfiguration > is read back, replaces what was there, and is empty at first

errors.entity-too-small | A part that is too small is refused with its size and the least. | operations/multipart-completion.test.ts > completeMultipartUpload > refuses a small part before the last, and a whole that is too large
errors.invalid-part | A part that is not there, or has another ETag, is refused. | operations/multipart-completion.test.ts > completeMultipartUpload > refuses in this order, and the upload stays open
errors.invalid-part-order | Parts out of order are refused. | operations/multipart-completion.test.ts > completeMultipartUpload > refuses in this order, and the upload stays open
errors.no-such-upload | An upload that is not there any more is refused. | operations/multipart-upload.test.ts > abortMultipartUpload > frees the parts and refuses everything afterwards
errors.names-and-statuses | Refusals have their documented names and statuses. | /contract/members.test.ts > refusals > of $api have the documented status: $name $status
errors.access-denied | Another owner than expected is refused. | access/guard.test.ts > guard > every operation on a bucket with %o by %s ends as %s
errors.method-not-allowed | Deleting a policy from another account is told with 405. | operations/bucket-policy.test.ts > %s with the permission ends as %s in the owner's account, as %s in another
errors.precondition-failed | A condition of a copy that fails is refused. | operations/copy.test.ts > copyObject > a request with %o ends as %s
errors.acceleration | A copy between regions through acceleration is told with 400. | /gateway/pipeline/storage-regions.test.ts > a copy from another region by the host of %s is refused with 400
errors.redirect | A bucket outside the default region is told with 307. | /gateway/pipeline/storage-regions.test.ts > a request for a bucket of another region is redirected there with 307
errors.late | A failure after the status is told in the body. | /gateway/pipeline/late-copies.test.ts > a copy that takes long > and fails then is a failure to the official SDK

limits.object | An object has 5 TB at most. | limits.test.ts > an installation allows what is documented
limits.copy | One copy has 5 GB at most. | limits.test.ts > an installation allows what is documented
limits.part | A part but the last has 5 MB at least. | limits.test.ts > an installation allows what is documented
limits.tiering | Objects under 128 KB are not moved by tiering. | work/lifecycle.test.ts > lifecycle rules, when they are applied, > move objects to colder classes only, not small ones, and listings show it
`,
);

export const objectStorageRows = [...statements, ...objectStorageOperationRows];
