/** Lines of the comparison with a public model that are meant to be, and why. A rule that no line matches is stale. */
export interface IntendedDifference {
  readonly api: string;
  readonly lines: RegExp;
  readonly reason: string;
}

export const intendedDifferences: readonly IntendedDifference[] = [
  {
    api: "customer-profile",
    lines: /each (?:key )?has the pattern \(\?!aws:\)/,
    reason: "patterns have no lookahead; the handlers refuse reserved tag keys of both partitions themselves",
  },
  {
    api: "customer-profile",
    lines: /Arn: has the pattern arn:(?:svc|<partition>):/,
    reason: "an ARN of any partition is taken",
  },
  {
    api: "customer-profile",
    lines: /^\w+\.resourceArn: has the pattern arn:\[0-9a-z\]\{1,10\}:profile,/,
    reason: "the model's pattern matches the beginning of an ARN, ours the whole",
  },
  {
    api: "customer-profile",
    lines: /^ObjectTypeKey\.FieldNames: each has the pattern/,
    reason: "the keys of the provider's own templates name fields with dots, and what is read may be put back",
  },
  {
    api: "customer-profile",
    lines: /^ListProfileObjectTypesResponse\.Items: is sensitive/,
    reason: "the definitions of object types hold nobody's data",
  },
  {
    api: "customer-profile",
    lines: /^FieldSourceProfileIds\.Attributes: each key has/,
    reason: "a name that no profile has merges nothing",
  },
  {
    api: "customer-profile",
    lines: /^UpdateProfileRequest\.(?:Gender|PartyType|ProfileType): adds the values $/,
    reason: "an empty text takes the value away, as for the other members of an update",
  },
  {
    api: "customer-profile",
    lines: /^Task\.TaskProperties: each has the (?:least none|pattern \.\+)/,
    reason: "a least length says the same, and takes line breaks in a value",
  },
  {
    api: "refactoring-workspace",
    lines: /each key has the pattern \(\?!aws:\)/,
    reason: "patterns have no lookahead; the handlers refuse reserved tag keys of both partitions themselves",
  },
  {
    api: "refactoring-workspace",
    lines: /^Create\w+Request\.Name: has the pattern \(\?!(?:app|env|svc)-\)/,
    reason: "patterns have no lookahead; the handlers refuse names that look like identifiers",
  },
  {
    api: "refactoring-workspace",
    lines: /(?:Identifier|Arn): has the pattern arn:/,
    reason: "an ARN of any partition is taken, with either name of the service in it",
  },
  {
    api: "refactoring-workspace",
    lines: /^PutResourcePolicyRequest\.Policy: has the pattern \.\*\\S\.\*/,
    reason: "the handler refuses what is no policy document, and so an empty one",
  },
  {
    api: "refactoring-workspace",
    lines: /^(?:GetRouteResponse|RouteSummary)\.TrafficPercentage: is declared and not in the model/,
    reason: "SetRouteTraffic sets it",
  },
  {
    api: "refactoring-workspace",
    lines: /^UrlEndpointInput\.(?:HealthUrl|Url): has the pattern/,
    reason: "the model names the character & by the number of 8; addresses of version 6 stand in brackets",
  },
  {
    api: "event-bus",
    lines: /has the pattern \(?\^?(?:arn:<partition>|aws\\\.partner)/,
    reason: "an ARN or partner name of any partition is taken",
  },
  {
    api: "event-bus",
    lines: /has the pattern \[ \\t\]\*/,
    reason: "the same texts but for those of white space alone, in a form that is matched in one pass",
  },
  {
    api: "event-bus",
    lines: /has the pattern \(\(%\[0-9A-Fa-f\]\{2\}\|/,
    reason: "the model's second part repeats what its first part takes",
  },
  {
    api: "event-bus",
    lines: /^(?:CreateEventBusRequest|PutRuleRequest)\.Tags: has the most none, declared 50/,
    reason: "a resource has at most 50 tags",
  },
  {
    api: "event-bus",
    lines: /^ConnectivityResourceConfigurationArn\.Resource/,
    reason: "private connectivity is younger than the documents; one message serves requests and answers",
  },
  {
    api: "event-bus",
    lines: /^HttpParameters\.PathParameterValues: each has the pattern \(\?!/,
    reason: "patterns have no lookahead; a value of white space alone is sent as it is",
  },
  {
    api: "event-bus",
    lines:
      /^(?:RedshiftDataParameters\.SecretManagerArn|RunCommandTarget\.Key|SageMakerPipelineParameter\.Name): has the pattern/,
    reason: "what the target's own API takes is that API's to refuse",
  },
  {
    api: "event-bus",
    lines: /^(?:SageMakerPipelineParameter|Tag)\.Value: (?:is required|has the least 1)/,
    reason: "an empty text cannot be told from none, and clients send empty values",
  },
  {
    api: "event-bus",
    lines: /^\w+PartnerEventSourceRequest\.Account: has the (?:least 12, declared 1|most 12, declared none)$/,
    reason: "the pattern says the length",
  },
  {
    api: "event-bus",
    lines: /^(?:DescribeEventBusResponse|EventBus)\.State: is declared and not in the model$/,
    reason: "the documents give a bus a state, the model does not",
  },
  {
    api: "event-bus",
    lines: /^PutPermissionRequest\.Action: has the pattern/,
    reason: "an action with either name of the service is taken",
  },
  {
    api: "event-bus",
    lines: /^(?:TagResourceRequest\.Tags|UntagResourceRequest\.TagKeys): (?:is required|has the least 1)/,
    reason: "an empty list cannot be told from none; it changes nothing",
  },
  {
    api: "object-storage",
    lines: /^RenameObjectRequest\.ExpectedBucketOwner: is declared/,
    reason: "every operation on a bucket may name the account that must own it",
  },
  {
    api: "object-storage",
    lines: /^(?:Get|Head)ObjectRequest\.IfRange: is declared/,
    reason: "the public service honours the header, which its model does not name",
  },
  {
    api: "object-storage",
    lines: /^ListObjectsV2Request\.MatchGlob: is declared/,
    reason: "listings can be filtered by a glob, which the public service does not offer",
  },
  {
    api: "object-storage",
    lines: /^SelectObjectContentOutput\.Payload: is a SelectObjectContentEventStream, declared as blob$/,
    reason: "the gateway writes the events of the service as frames of the event stream",
  },
  {
    api: "event-bus",
    lines: /^Target\.CloudEventParameters: is declared and not in the model$/,
    reason: "a target can be given CloudEvents, which the public service does not make",
  },
  {
    api: "event-bus",
    lines: /^Target\.OrderedDelivery: is declared and not in the model$/,
    reason: "deliveries of one key can follow one another, at any kind of target",
  },
  {
    api: "event-bus",
    lines: /^PutEventsRequestEntry\.DeduplicationId: is declared and not in the model$/,
    reason: "a call that is repeated can put its events once",
  },
  {
    api: "object-storage",
    lines: /^(?:CreateBucket|PutBucketAcl)Request\.ACL: adds the values log-delivery-write$/,
    reason: "the public service takes it, though its model does not name it",
  },
  {
    api: "object-storage",
    lines: /^(?:Get|Head)ObjectRequest\.(?:ServerSideEncryption|SseKmsKeyId): is declared and not in the model$/,
    reason: "a read that names an encryption is refused, so that nobody believes it was used",
  },
  {
    api: "object-storage",
    lines:
      /^GetObjectAttributesRequest\.ObjectAttributes: (?:has the least 1, declared none|is required, declared as optional)$/,
    reason: "the handler refuses a missing list, as an invalid request, which clients know",
  },
  {
    api: "object-storage",
    lines: /(?:Expires): is a timestamp, declared as string/,
    reason: "the header is kept as it came and given back so, also when it is no date",
  },
  {
    api: "object-storage",
    lines: /PartNumber: has the (?:least none, declared 1|most none, declared 10000)$/,
    reason: "part numbers are 1 to 10000 everywhere",
  },
  {
    api: "object-storage",
    lines: /^\w+Request\.\w+: (?:each )?has an enumeration, declared as any text$/,
    reason: "where the value matters the handler refuses an unknown one, with an error of the value's own",
  },
  {
    api: "object-storage",
    lines: /: lacks the values svc:fsx, svc:backup/,
    reason: "those stand for storage that only the public provider has",
  },
  {
    api: "object-storage",
    lines: /^\w+\.CopySource: has the pattern/,
    reason: "the handler refuses a source that is none, with the words that clients know",
  },
  {
    api: "object-storage",
    lines:
      /^(?!\w+Request\.)\w+\.\w+: (?:is required, declared as optional|has the least 1, declared none|(?:each )?has an enumeration, declared as any text)$/,
    reason:
      "a document that lacks an element, or holds an unknown value, is malformed XML to clients and no argument that is not valid; the handler says so",
  },
];

/** Lines that are not meant to be: what services still differ in. Take a line away when the service has changed. */
export const openDifferences: Readonly<Record<string, readonly string[]>> = {
  "event-bus": ["UpdateEndpointRequest.EventBuses: has the least 2, declared none"],
};

/** Names of refusals that the public models do not list, and why they are needed. */
export const namesBeyondTheModels: readonly {
  readonly api: string;
  readonly names: readonly string[];
  readonly reason: string;
}[] = [
  {
    api: "customer-profile",
    names: ["UnrecognizedClientException", "NotImplementedException", "ServiceUnavailableException"],
    reason: "what any call can meet, in the names that clients of such APIs know",
  },
  {
    api: "refactoring-workspace",
    names: [
      "MissingAuthenticationTokenException",
      "UnknownOperationException",
      "ServiceUnavailableException",
      "RequestTimeoutException",
      "RequestEntityTooLargeException",
    ],
    reason: "what any call can meet, in the names that clients of such APIs know",
  },
  {
    api: "event-bus",
    names: [
      "MissingAuthenticationTokenException",
      "ServiceUnavailableException",
      "RequestTimeoutException",
      "RequestEntityTooLargeException",
      "UnknownOperationException",
      "ValidationException",
    ],
    reason: "what any call can meet, in the names that clients of such APIs know",
  },
  { api: "event-bus", names: ["InvalidToken"], reason: "the documented refusal of an old page token" },
  {
    api: "object-storage",
    names: ["NoSuchFork"],
    reason: "forks are an operation that the public model does not have",
  },
  {
    api: "object-storage",
    names: [
      "AccessControlListNotSupported",
      "LambdaInvocationFailed",
      "LambdaNotFound",
      "LambdaPermissionError",
      "LambdaResponseNotReceived",
      "LambdaRuntimeError",
      "LambdaTimeout",
      "ResponseInterrupted",
      "ValidationError",
      "BadDigest",
      "BucketNotEmpty",
      "ConditionalRequestConflict",
      "CrossLocationLoggingProhibited",
      "EntityTooLarge",
      "EntityTooSmall",
      "IdMismatch",
      "IllegalLocationConstraintException",
      "IllegalVersioningConfigurationException",
      "IncompleteBody",
      "InternalError",
      "InvalidArgument",
      "InvalidBucketAclWithObjectOwnership",
      "InvalidBucketName",
      "InvalidBucketOwnerAWSAccountID",
      "InvalidBucketState",
      "InvalidChunkSizeError",
      "InvalidDigest",
      "InvalidRedirectLocation",
      "InvalidEncryptionAlgorithmError",
      "InvalidLocationConstraint",
      "InvalidPart",
      "InvalidPartNumber",
      "InvalidPartOrder",
      "InvalidPolicyDocument",
      "InvalidRange",
      "InvalidRetentionPeriod",
      "InvalidS3DestinationBucket",
      "InvalidSecurity",
      "InvalidStorageClass",
      "InvalidTag",
      "InvalidTargetBucketForLogging",
      "KMS.DisabledException",
      "KMS.KMSInvalidStateException",
      "KMS.NotFoundException",
      "KeyTooLongError",
      "MalformedACLError",
      "MalformedPolicy",
      "MalformedXML",
      "MaxMessageLengthExceeded",
      "MetadataTooLarge",
      "MethodNotAllowed",
      "MissingSecurityHeader",
      "NoSuchBucketPolicy",
      "NoSuchCORSConfiguration",
      "NoSuchConfiguration",
      "NoSuchLifecycleConfiguration",
      "NoSuchObjectLockConfiguration",
      "NoSuchPublicAccessBlockConfiguration",
      "NoSuchTagSet",
      "NoSuchVersion",
      "NoSuchWebsiteConfiguration",
      "NotImplemented",
      "NotModified",
      "ObjectLockConfigurationNotFoundError",
      "OperationAborted",
      "OwnershipControlsNotFoundError",
      "PermanentRedirect",
      "PreconditionFailed",
      "ReplicationConfigurationNotFoundError",
      "RequestTimeout",
      "RestoreAlreadyInProgress",
      "ServerSideEncryptionConfigurationNotFoundError",
      "ServiceUnavailable",
      "SlowDown",
      "TemporaryRedirect",
      "TooManyBuckets",
      "TooManyConfigurations",
      "UnexpectedContent",
      "UnresolvableGrantByEmailAddress",
    ],
    reason: "the model names a handful of the codes that its error documents carry; clients know these too",
  },
  {
    api: "object-storage",
    names: [
      "AmbiguousFieldName",
      "Busy",
      "CSVParsingError",
      "CSVUnescapedQuote",
      "CastFailed",
      "EvaluatorBindingDoesNotExist",
      "EvaluatorInvalidArguments",
      "EvaluatorInvalidTimestampFormatPattern",
      "ExpressionTooLong",
      "IllegalSqlFunctionArgument",
      "IntegerOverflow",
      "InvalidColumnIndex",
      "InvalidCompressionFormat",
      "InvalidExpressionType",
      "InvalidFileHeaderInfo",
      "InvalidJsonType",
      "InvalidKeyPath",
      "InvalidQuoteFields",
      "InvalidRequestParameter",
      "InvalidScanRange",
      "InvalidTextEncoding",
      "JSONParsingError",
      "LexerInvalidChar",
      "LexerInvalidIONLiteral",
      "LexerInvalidLiteral",
      "LikeInvalidInputs",
      "MissingHeaders",
      "ObjectSerializationConflict",
      "OverMaxColumn",
      "OverMaxParquetBlockSize",
      "OverMaxRecordSize",
      "ParquetParsingError",
      "ParseAsteriskIsNotAloneInSelectList",
      "ParseEmptySelect",
      "ParseExpectedDatePart",
      "ParseExpectedIdentForAlias",
      "ParseExpectedKeyword",
      "ParseExpectedNumber",
      "ParseExpectedTypeName",
      "ParseInvalidTypeParam",
      "ParseNonUnaryAgregateFunctionCall",
      "ParseSelectMissingFrom",
      "ParseUnexpectedTerm",
      "ParseUnexpectedToken",
      "ParseUnsupportedCallWithStar",
      "ParseUnsupportedSyntax",
      "TruncatedInput",
      "UnsupportedFunction",
      "UnsupportedScanRangeInput",
      "UnsupportedSqlStructure",
    ],
    reason: "the codes of queries are listed in the documents of the language, and the model has none of them",
  },
  {
    api: "object-storage",
    names: ["NoSuchSearchIndex", "SearchIndexBuilding"],
    reason: "the public service has no searches by tags and metadata",
  },
  {
    api: "object-storage",
    names: ["CorruptContent", "CorruptRecord", "MissingContent"],
    reason: "damage on the disk has names of its own, so that nobody takes it for a missing object",
  },
  {
    api: "object-storage",
    names: ["InsufficientStorage"],
    reason: "the public service has no full disks, so its model has no name for one",
  },
];

/** Listings without pages, and why. */
export const unpagedListings: Readonly<Record<string, string>> = {
  "customer-profile.ListTagsForResource": "a resource has at most 50 tags",
  "refactoring-workspace.ListTagsForResource": "a resource has at most 50 tags",
  "event-bus.ListTagsForResource": "a resource has at most 50 tags",
  "object-storage.ListTagsForResource": "a resource has at most 50 tags",
  "object-storage.ListMultipartUploads": "two members together make its position, which the trait cannot say",
  "object-storage.ListObjectVersions": "two members together make its position, which the trait cannot say",
};

/** Operations of our own, which no public API has, and why. */
export const ownOperations: Readonly<Record<string, string>> = {
  "object-storage.PutBucketSearchIndex":
    "objects are found by tags and metadata, which the public service does not offer",
  "object-storage.GetBucketSearchIndex":
    "objects are found by tags and metadata, which the public service does not offer",
  "object-storage.DeleteBucketSearchIndex":
    "objects are found by tags and metadata, which the public service does not offer",
  "object-storage.SearchObjects": "objects are found by tags and metadata, which the public service does not offer",
  "event-bus.ListDeadLetters": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.CancelDeadLetterRedrive": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.DescribeDeadLetterRedrive": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.ListDeadLetterGroups": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.ListDeadLetterRedrives": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.StartDeadLetterRedrive": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.RedriveDeadLetters": "dead letters are kept by the service itself, so that nothing needs a queue",
  "event-bus.DeleteDiscoveredSchema": "producers and consumers see what passes a bus without a registry of their own",
  "event-bus.DescribeDiscoveredSchema": "producers and consumers see what passes a bus without a registry of their own",
  "event-bus.DiscoverSchemas": "producers and consumers see what passes a bus without a registry of their own",
  "event-bus.StartSchemaDiscovery": "producers and consumers see what passes a bus without a registry of their own",
  "event-bus.StopSchemaDiscovery": "producers and consumers see what passes a bus without a registry of their own",
  "event-bus.TestEventPatternOnArchive": "a rule can be tried on what has happened before it is enabled",
  "object-storage.ForkBucket":
    "content is shared by reference here, so a bucket can be copied at the cost of its records",
  "object-storage.GetBucketFork": "a fork is made by a job, whose state is read",
  "object-storage.PutObjectReplica":
    "the public service keeps to itself how its regions send each other versions; here regions are installations",
  "object-storage.GetAccountPublicAccessBlock": "GetPublicAccessBlock of the model of s3control",
  "object-storage.PutAccountPublicAccessBlock": "PutPublicAccessBlock of the model of s3control",
  "object-storage.DeleteAccountPublicAccessBlock": "DeletePublicAccessBlock of the model of s3control",
  "object-storage.ListTagsForResource": "of the model of s3control, whose other operations are not offered",
  "object-storage.TagResource": "of the model of s3control, whose other operations are not offered",
  "object-storage.UntagResource": "of the model of s3control, whose other operations are not offered",
  "refactoring-workspace.ExplainRoute": "nothing else shows why a request goes to another service than expected",
  "refactoring-workspace.SetRouteTraffic": "the public service sends a path to one service at a time",
  "event-bus.TraceEvent": "nothing else shows why a rule did not match an event, or where its deliveries are",
};

/** Statuses that differ from the models' and why: by API and name. */
export const statusDifferences: Readonly<Record<string, string>> = {
  "event-bus.InternalException": "the model gives none; a fault of the service is a 500, so that clients try again",
};

/** Members that share a name on the wire with another of their message, and why. */
export const sharedNames: Readonly<Record<string, string>> = {
  "OlderFunctionConfiguration.Event": "the older of the two members holds one event where the younger holds several",
  "OlderQueueConfiguration.Event": "the older of the two members holds one event where the younger holds several",
  "OlderTopicConfiguration.Event": "the older of the two members holds one event where the younger holds several",
};
