import { readRows } from "./coverage-row.ts";

/** What is documented of the event bus, and the test that shows each statement. */
export const eventBusRows = readRows(
  "event-bus",
  `
what.1a | An event on a bus is matched to the bus's rules, and a matching rule invokes its targets. | delivery/delivery.test.ts > a delivery > brings the whole event in its documented envelope, the detail as it was spelled
what.1b | A rule has an event pattern, a schedule or both. | operations/rules-in-use.test.ts > a rule > with a pattern and a schedule is triggered by both
what.2a | Each account has a default bus. | operations/event-bus.test.ts > listEventBuses > shows each account its own buses only
what.2b | A custom bus takes the events of applications. | operations/rules-in-use.test.ts > a rule > watches the events of its own bus only
what.2c | A partner bus takes the events of the partner source that has its name. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
what.3a | The other services' events come to the account's default bus. | /stories/story.test.ts > the official SDK clients play one story through all four services
what.3b | A partner's events come to the partner bus that matches. | operations/event-source.test.ts > a partner event source > brings its events to the bus of the account, in the account's name
what.4 | A rule watches the events of one bus only. | operations/rules-in-use.test.ts > a rule > watches the events of its own bus only
what.5 | An archive stores events, and a replay sends them once more. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > sends the events of its time once more, marked with its name, and none into the archive
what.6 | An API destination is an HTTP endpoint that a target names; its connection holds how a caller proves itself. | delivery/api-destination.test.ts > a connection proves itself > by user name and password
what.7 | A global endpoint moves events to a second region while the first is not healthy, and back (revision A). | operations/global-endpoint.test.ts > a global endpoint > puts events in the first region while it is healthy, then in the second, and in the first again
what.8 | Other accounts can be permitted to put events on a bus. | operations/permission.test.ts > putPermission > lets another account put events, told in the bus's policy, until it is taken back
what.9 | Rules and buses carry tags. | operations/tag.test.ts > tags > of buses and rules are added, replaced, removed and listed by key
what.10a | A change of rules and targets takes effect soon after its answer; here at once. | delivery/delivery.test.ts > a delivery > follows rules as soon as they are answered
what.10b | A new archive takes events soon after its answer; here at once. | operations/archive.test.ts > an archive > keeps what matches its pattern, and tells how much

fields.event-bus | A bus has a name, an ARN, a state and the time at which it was made. | operations/event-bus.test.ts > createEventBus > makes a bus that is described and listed at once
fields.event-bus.policy | A bus tells its policy. | operations/permission.test.ts > putPermission > lets another account put events, told in the bus's policy, until it is taken back
fields.event-bus.optional | A bus can be made with the name of a source, and with tags. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
fields.partner-event-source | A partner source has the account that may make its bus, and a name. | operations/event-source.test.ts > a partner event source > is created once for each account that receives it, and its events reach each account's bus
fields.rule | A rule tells all its documented members as they were put. | operations/rules-in-use.test.ts > a rule > has every member with which it was put
fields.rule.managed | A rule that another service manages says so. | operations/archive.test.ts > an archive > is filled by a rule that nobody else changes
fields.target | A target has an id, an ARN and an input, kept as they were given. | operations/target.test.ts > putTargets > adds targets and replaces those of the same id, all members kept
fields.target.parameters | A target has a role, and parameters for streams and commands. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
fields.archive | An archive tells its source, description, retention and state. | operations/archive.test.ts > an archive > keeps what matches its pattern, and tells how much
fields.replay | A replay has its archive, destination, times, state and the time of the event it last sent. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > sends the events of its time once more, marked with its name, and none into the archive
fields.connection | A connection has its parameters, and tells its state. | operations/connection.test.ts > createConnection > is authorized at once with BASIC, and described without its secrets
fields.api-destination | An API destination has its connection, method, endpoint, description and rate. | operations/api-destination.test.ts > create, describe, list, change and delete one
fields.global-endpoint | A global endpoint has buses, a routing and a replication configuration, a description, a role and a home region. | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
fields.permission-statement | A permission has a statement id, an action and a principal, or a policy. | operations/permission.test.ts > putPermission > lets another account put events, told in the bus's policy, until it is taken back
fields.tags | A tag is a key and a value on a resource that an ARN names. | operations/tag.test.ts > tags > of the resource %s end as %s

rules.1a | The name of a custom bus holds no slash. | operations/event-bus.test.ts > createEventBus > refuses, in this order
rules.1b | The name default is the account's own bus and taken. | operations/event-bus.test.ts > createEventBus > refuses, in this order
rules.1c | A partner bus has exactly the name of its source. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
rules.2 | The name of a partner source has the partner, a namespace and an event name, with slashes between. | operations/partner-event-source.test.ts > the operations for partners > are refused to all others, and for sources of other partners
rules.3a | A partner source serves one bus of one account. | operations/event-source.test.ts > a partner event source > is created once for each account that receives it, and its events reach each account's bus
rules.3b | A partner makes one source for each account that receives. | operations/event-source.test.ts > a partner event source > is created once for each account that receives it, and its events reach each account's bus
rules.4 | An archive without a retention keeps events without end. | operations/archive.test.ts > an archive > lets events go when their retention is over, and everything when it is deleted
rules.5a | The buses of a global endpoint have one name in both regions. | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > are refused, in this order
rules.5b | Its routing configuration has the routing policy, the health check and the second region. | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
rules.5c | Its replication configuration switches replication on or off. | operations/global-endpoint.test.ts > a global endpoint > with replication copies each event to the other region once, with the endpoint among its resources
rules.6a | Putting a rule replaces the one of its name; what is left out becomes empty. | operations/rule.test.ts > putRule > empties what an update omits, but keeps targets and tags
rules.6b | Tags given with an update are ignored. | operations/tag.test.ts > tags > of a new rule are kept, and those of an update are ignored
rules.6c | A rule needs a pattern or a schedule. | operations/rule.test.ts > putRule > refuses, in this order
rules.7a | A schedule can be given as cron fields. | /kit/schedule/schedule.test.ts > cron > %s after %s is %s
rules.7b | A schedule can be given as a rate. | /kit/schedule/schedule.test.ts > rate > counts its periods from the beginning
rules.8a | A permission's condition is JSON with a type, a key and a value. | operations/permission.test.ts > putPermission > a request with %o ends as %s
rules.8b | A policy is JSON and stands in the place of the single members. | operations/permission.test.ts > putPermission > replaces a statement of the same id, and everything with a whole policy
rules.8c | Statement ids are unique. | operations/permission.test.ts > putPermission > replaces a statement of the same id, and everything with a whole policy
rules.9a | A principal is an account or a star. | operations/permission.test.ts > putPermission > a request with %o ends as %s
rules.9b | A star with the condition of an organization permits every account of it. | access/put-access.test.ts > a rule of %s, %s, with the record %j and %j may put: %s
rules.9c | A star without a condition permits everybody. | operations/permission.test.ts > putPermission > replaces a statement of the same id, and everything with a whole policy
rules.10 | A rule has five targets at most (revision A). | operations/target.test.ts > putTargets > refuses a bus, a rule that is not there, then a sixth target, and changes nothing
rules.11a | Of the three members that make a target's input, at most one is given. | operations/target.test.ts > putTargets > a request with the targets $0 ends as $1
rules.11b | Paths into the event are in dot notation. | json/json-path.test.ts > readPath > %s names %s
rules.12 | ARNs in patterns are compared byte for byte. | operations/rules-in-use.test.ts > a rule > compares ARNs byte for byte

states.partner-source-active | Deactivating a partner source makes it PENDING and stops its events; its bus stays. | operations/event-source.test.ts > a partner event source > that is deactivated sends nothing and keeps its bus, until it is activated
states.partner-source-activate | Activating a PENDING source lets its bus receive again. | operations/event-source.test.ts > a partner event source > that is deactivated sends nothing and keeps its bus, until it is activated
states.partner-source-expiry | A source that is PENDING for more than two weeks is deleted. | operations/event-source.test.ts > a partner event source > that is pending for two weeks is deleted, with or without its bus
states.partner-source-deleted | A source that its partner deletes leaves its bus with the state DELETED. | operations/event-source.test.ts > a partner event source > that its partner deletes leaves its bus with the state DELETED, and is forgotten with the bus
states.rule-new | A rule is enabled unless its state is given. | operations/rule.test.ts > describeRule > tells who made the rule
states.rule-disabled-events | A disabled rule matches no event. | delivery/delivery.test.ts > a delivery > follows rules as soon as they are answered
states.rule-disabled-schedule | A disabled rule does not run on its schedule. | work/schedule-job.test.ts > a schedule > sends the documented event to the rule's targets, run after run, until the rule stops
states.rule-enabled | Enabling lets a rule act again, and fails where there is no rule. | operations/rule.test.ts > enableRule and disableRule > refuse a bus that is not there, then a rule that is not there
states.rule-deleted-targets | A rule is deleted only when its targets are gone. | operations/rule.test.ts > deleteRule > refuses a bus that is not there, then a rule with targets
states.rule-deleted-again | Deleting a rule again succeeds (revision A). | operations/rule.test.ts > deleteRule > deletes a rule; one that is not there counts as deleted
states.rule-managed | A managed rule is deleted only with Force. | operations/rules-in-use.test.ts > a rule > that a service manages is changed and deleted only with Force
states.replay-order | A replay goes by event time in steps of one minute, the earliest first. | work/replay-job.test.ts > the steps of a replay > go by event time, each within one minute, the earliest first
states.replay-progress | A replay tells how far it has come. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > sends the events of its time once more, marked with its name, and none into the archive
states.replay-cancelled | A running replay can be cancelled. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > stops when it is cancelled

operations.activate_event_source | Activates a partner source again. | operations/event-source.test.ts > a partner event source > that is deactivated sends nothing and keeps its bus, until it is activated
operations.cancel_replay | Cancels a replay. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > stops when it is cancelled
operations.create_api_destination | Makes an API destination with its optional members. | operations/api-destination.test.ts > create, describe, list, change and delete one
operations.create_api_destination.authorization | The endpoint is called as the connection's type asks. | delivery/api-destination.test.ts > a connection proves itself > by a token that it fetches by $2
operations.create_archive | Makes an archive with its optional members. | operations/archive.test.ts > an archive > keeps what matches its pattern, and tells how much
operations.create_archive.without-pattern | Without a pattern all events are archived, those of replays never. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > sends the events of its time once more, marked with its name, and none into the archive
operations.create_connection | Makes a connection. | operations/connection.test.ts > createConnection > is authorized at once with BASIC, and described without its secrets
operations.create_endpoint | Makes a global endpoint (revision A). | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
operations.create_event_bus | Makes a custom bus. | operations/event-bus.test.ts > createEventBus > makes a bus that is described and listed at once
operations.create_event_bus.partner | Makes a partner bus of a source. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
operations.create_partner_event_source | Makes a partner source, called by the partner. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
operations.deactivate_event_source | Stops the events of a partner source for a time. | operations/event-source.test.ts > a partner event source > that is deactivated sends nothing and keeps its bus, until it is activated
operations.deauthorize_connection | Takes every parameter and secret away, so that the connection can be given new ones. | operations/connection.test.ts > updateConnection and deauthorizeConnection > remove every secret, until the connection is given new ones
operations.delete_api_destination | Deletes an API destination. | operations/api-destination.test.ts > create, describe, list, change and delete one
operations.delete_archive | Deletes an archive. | operations/archive.test.ts > an archive > lets events go when their retention is over, and everything when it is deleted
operations.delete_endpoint | Deletes a global endpoint (revision A). | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
operations.delete_event_bus | Deletes a custom bus. | operations/event-bus.test.ts > deleteEventBus > deletes a bus; repeating it is safe
operations.delete_event_bus.partner | Deletes a partner bus. | operations/event-source.test.ts > a partner event source > is pending again when its bus is deleted
operations.delete_partner_event_source | Deletes a partner source, called by the partner. | operations/event-source.test.ts > a partner event source > that its partner deletes leaves its bus with the state DELETED, and is forgotten with the bus
operations.delete_rule | Deletes a rule. | operations/rule.test.ts > deleteRule > deletes a rule; one that is not there counts as deleted
operations.describe_api_destination | Tells an API destination. | operations/api-destination.test.ts > create, describe, list, change and delete one
operations.describe_archive | Tells an archive. | operations/archive.test.ts > an archive > keeps what matches its pattern, and tells how much
operations.describe_connection | Tells a connection. | operations/connection.test.ts > createConnection > is authorized at once with BASIC, and described without its secrets
operations.describe_endpoint | Tells a global endpoint of its home region (revision A). | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
operations.describe_event_bus | Tells a bus by name or ARN, the default bus when none is named. | operations/event-bus.test.ts > describeEventBus > takes a name, an ARN of either dialect, or nothing for the default bus
operations.describe_event_bus.policy | Tells which other accounts are permitted. | operations/permission.test.ts > putPermission > lets another account put events, told in the bus's policy, until it is taken back
operations.describe_event_source | Tells a partner source that is shared with the account. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
operations.describe_partner_event_source | Tells a partner's own source. | operations/partner-event-source.test.ts > the operations for partners > describe and list the partner's sources, each once, page by page
operations.describe_replay | Tells a replay and its progress. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > sends the events of its time once more, marked with its name, and none into the archive
operations.describe_rule | Tells a rule. | operations/rule.test.ts > describeRule > tells who made the rule
operations.disable_rule | Disables a rule. | operations/rule.test.ts > enableRule and disableRule > set the state; repeating is safe
operations.enable_rule | Enables a rule. | operations/rule.test.ts > enableRule and disableRule > set the state; repeating is safe
operations.list_api_destinations | Lists API destinations, also those of one connection. | operations/api-destination.test.ts > create, describe, list, change and delete one
operations.list_archives | Lists archives by at most one filter. | operations/archive.test.ts > an archive > is listed by name, bus or state, one filter at a time
operations.list_connections | Lists connections by name and state. | operations/connection.test.ts > listConnections and deleteConnection > list by name and state, and delete with the secrets
operations.list_endpoints | Lists global endpoints (revision A). | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
operations.list_event_buses | Lists buses in pages. | operations/event-bus.test.ts > listEventBuses > pages by name, each bus once, without a token on the last page
operations.list_event_sources | Lists the partner sources that are shared with the account. | operations/event-source.test.ts > a partner event source > is pending until the account creates its bus, whose name is that of the source
operations.list_partner_event_source_accounts | Lists the accounts of a partner's source. | operations/event-source.test.ts > a partner event source > is created once for each account that receives it, and its events reach each account's bus
operations.list_partner_event_sources | Lists a partner's sources by the beginning of their names. | operations/partner-event-source.test.ts > the operations for partners > describe and list the partner's sources, each once, page by page
operations.list_replays | Lists replays. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > stops when it is cancelled
operations.list_replays.filters | Takes at most one filter. | operations/rules-in-use.test.ts > listReplays > takes one filter at most
operations.list_rule_names_by_target | Lists the rules that can invoke a target. | operations/target.test.ts > listRuleNamesByTarget > lists each rule of a bus that has the target once, by name, in pages
operations.list_rules | Lists rules by prefix in pages. | operations/rule.test.ts > listRules > pages by name within a prefix
operations.list_tags_for_resource | Lists the tags of a rule or bus. | operations/tag.test.ts > tags > of buses and rules are added, replaced, removed and listed by key
operations.list_targets_by_rule | Lists a rule's targets in pages. | operations/target.test.ts > listTargetsByRule > pages by id
operations.put_events | Takes events for matching. | operations/event.test.ts > putEvents > answers each entry in its place, with an id or an error
operations.put_events.endpoint | Takes the id of a global endpoint (revision A). | operations/global-endpoint.test.ts > a global endpoint > puts events in the first region while it is healthy, then in the second, and in the first again
operations.put_partner_events | Takes a partner's events for the customers' buses. | operations/partner-event-source.test.ts > the operations for partners > answer each event in its place, with an id or an error
operations.put_permission | Permits an account or an organization to put events on a bus. | operations/permission.test.ts > putPermission > lets another account put events, told in the bus's policy, until it is taken back
operations.put_rule | Makes or changes a rule. | operations/rule.test.ts > putRule > names rules of the default bus without their bus
operations.put_targets | Adds or replaces targets. | operations/target.test.ts > putTargets > adds targets and replaces those of the same id, all members kept
operations.remove_permission | Takes one permission back, or all. | operations/permission.test.ts > removePermission > takes all permissions back at once, and refuses, in this order
operations.remove_targets | Removes the targets that are named. | operations/target.test.ts > removeTargets > removes targets; ids that are not there count as removed
operations.start_replay | Starts a replay of the events between two times. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > sends the events of its time once more, marked with its name, and none into the archive
operations.tag_resource | Adds tags; a key that is there gets the new value. | operations/tag.test.ts > tags > of buses and rules are added, replaced, removed and listed by key
operations.test_event_pattern | Tells whether a pattern matches an event. | operations/event.test.ts > testEventPattern > says whether the event matches
operations.untag_resource | Removes tags. | operations/tag.test.ts > tags > of buses and rules are added, replaced, removed and listed by key
operations.update_api_destination | Changes an API destination. | operations/api-destination.test.ts > create, describe, list, change and delete one
operations.update_archive | Changes an archive. | operations/rules-in-use.test.ts > updateArchive > changes what is given and keeps the rest
operations.update_connection | Changes a connection. | operations/connection.test.ts > updateConnection and deauthorizeConnection > change what is given and keep the rest, the secrets too
operations.update_endpoint | Changes a global endpoint (revision A). | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page

operations.required-members | Each operation declares the members that it requires. | /contract/members.test.ts > the members of the contract > differ from the public model of $api only where it is meant

endpoints.pages | A listing takes the most results and the token of the page before. | operations/event-bus.test.ts > listEventBuses > pages by name, each bus once, without a token on the last page
endpoints.pages-of-endpoints | The listing of endpoints pages by MaxResults. | operations/global-endpoint.test.ts > createEndpoint, describeEndpoint, listEndpoints, updateEndpoint and deleteEndpoint > keep the settings, and list them page by page
endpoints.default-bus | A call that names no bus means the default bus. | operations/rule.test.ts > putRule > names rules of the default bus without their bus
endpoints.bus-by-arn | A bus is named by its name or its ARN. | operations/event.test.ts > putEvents > answers each entry in its place, with an id or an error
endpoints.partial-failure | A failed target is told with its id and an error code, and counted. | operations/target.test.ts > targets that concurrent changes keep from being changed > are counted and listed with an error, each of a call
endpoints.removal-promise | A successful removal promises only that the listed targets are gone (revision A). | operations/target.test.ts > removeTargets > removes targets; ids that are not there count as removed
endpoints.test-event | An event to test has seven members that must be there. | operations/event.test.ts > testEventPattern > the pattern $0 with the event $1 ends as $2

authentication.1a | An account sends to another's bus by a rule with that bus as target, once it is permitted. | operations/permission.test.ts > putPermission > lets a rule of another account deliver to the bus, but not on to a third account
authentication.1b | A permission by organization asks for a role in the target. | access/put-access.test.ts > a rule of %s, %s, with the record %j and %j may put: %s
authentication.2 | A permission is taken back by its statement id, or with all others. | operations/permission.test.ts > removePermission > takes all permissions back at once, and refuses, in this order
authentication.3 | A bus's policy is 10 KB at most. | operations/permission.test.ts > putPermission > a request with %o ends as %s
authentication.4 | Targets of some kinds need a role. | operations/target.test.ts > a target whose kind is reached in the name of a role > is refused without one: %s
authentication.5 | Making a rule with tags needs two permissions. | access/policies.test.ts > no operation is reached without each of its permissions, and every one with them
authentication.6 | A connection carries how calls are authorized; deauthorizing takes it away. | operations/connection.test.ts > updateConnection and deauthorizeConnection > remove every secret, until the connection is given new ones
authentication.7 | Some operations are for partners only. | operations/partner-event-source.test.ts > the operations for partners > are refused to all others, and for sources of other partners

events.1 | An entry has a source, a type, resources and a detail. | delivery/delivery.test.ts > a delivery > brings the whole event in its documented envelope, the detail as it was spelled
events.2a | A pattern triggers a rule on a matching event. | pattern/match.test.ts > several fields > the pattern %s matches %s: %s
events.2b | A schedule triggers a rule when it is due. | work/schedule-job.test.ts > a schedule > sends the documented event to the rule's targets, run after run, until the rule stops
events.2c | A rule with both triggers on both. | operations/rules-in-use.test.ts > a rule > with a pattern and a schedule is triggered by both
events.3a | Without an input the whole event is passed. | delivery/delivery.test.ts > a delivery > brings the whole event in its documented envelope, the detail as it was spelled
events.3b | A constant input takes the event's place. | delivery/delivery.test.ts > a delivery > that is refused for good goes to the dead letters at once, with the documented attributes
events.3c | A path passes a part of the event. | operations/rules-in-use.test.ts > a rule > with a pattern and a schedule is triggered by both
events.3d | A transformer fills a template with parts of the event. | domain/template.test.ts > a JSON template > %s becomes %s
events.3e | Command runs and container tasks get nothing without an input. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.3f | A bus as a target takes no input of its own. | operations/target.test.ts > putTargets > a request with the targets $0 ends as $1
events.4.api-destination | An API destination is a target. | delivery/delivery.test.ts > a delivery > brings the whole event in its documented envelope, the detail as it was spelled
events.4.event-bus | A bus of the account is a target. | delivery/delivery.test.ts > an event bus as a target > takes the event with its id, and its rules act on it
events.4.other-account | A bus of another account is a target. | operations/permission.test.ts > putPermission > lets a rule of another account deliver to the bus, but not on to a third account
events.4.function | A function is a target. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.queue | A queue is a target. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.topic | A topic is a target. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.data-stream | A data stream is a target, with a shard chosen by the event. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.delivery-stream | A delivery stream is a target. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.log-group | A log group is a target. | delivery/log-group-files.test.ts > an event for a log group is a line of its file where no endpoint for log groups is configured
events.4.state-machine | A state machine is a target. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.rest-api | A REST API gateway is a target. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.others | Every other documented kind is a target with an endpoint that the installation names. | delivery/service-connectors.test.ts > a delivery to another service > by the endpoint of %s with the target %j is the request %s
events.4.no-endpoint | A kind without an endpoint loses nothing in silence. | delivery/delivery.test.ts > a delivery > to a kind of target that the installation has no endpoint for is never lost silently
events.5a | An archive takes the events of its bus that match, never those of replays. | operations/archive.test.ts > an archive > keeps what matches its pattern, and tells how much
events.5b | A replay sends to its destination. | operations/replay.test.ts > startReplay, describeReplay, listReplays and cancelReplay > reaches only the rules that it names
events.6 | A partner makes a source, a customer its bus, and the partner's events come to it. | operations/event-source.test.ts > a partner event source > brings its events to the bus of the account, in the account's name
events.7a | Events do not come to another account's bus without its permission. | delivery/delivery.test.ts > an event bus as a target > %s fails as %s
events.7b | Events come to another account's bus once it permits them. | operations/permission.test.ts > putPermission > lets another account put events, told in the bus's policy, until it is taken back

errors.delete-rule-bus | Deleting a rule of a bus that is not there is refused as not found (revision A). | operations/rule.test.ts > deleteRule > refuses a bus that is not there, then a rule with targets
errors.old-token | A page token of more than 24 hours is refused. | operations/event-bus.test.ts > listEventBuses > refuses a token of another listing, of another caller, and one that is a day old
errors.old-token.name | That refusal is InvalidToken with status 400. | /contract/members.test.ts > refusals > of $api have the documented status: $name $status
errors.enable-rule | Enabling a rule that is not there fails. | operations/rule.test.ts > enableRule and disableRule > refuse a bus that is not there, then a rule that is not there
errors.partial-failure | A partial failure is counted, with a code for each target. | operations/target.test.ts > targets that concurrent changes keep from being changed > are counted and listed with an error, each of a call
errors.delete-rule-targets | A rule with targets is not deleted. | operations/rule.test.ts > deleteRule > refuses a bus that is not there, then a rule with targets
errors.delete-bus | The default bus, and a bus with rules, is not deleted. | operations/event-bus.test.ts > deleteEventBus > refuses the default bus, then a bus with rules
errors.organization-role | A target in an organization's account without a role is refused. | access/put-access.test.ts > a rule of %s, %s, with the record %j and %j may put: %s

limits.targets | A rule has five targets (revision A). | operations/target.test.ts > putTargets > refuses a bus, a rule that is not there, then a sixth target, and changes nothing
limits.nesting | JSON is taken to 1100 levels (revision A). | domain/put-entry.test.ts > refuseEntry, in the order of its checks > %s
limits.tags | A resource has 50 tags. | operations/tag.test.ts > tags > are refused with a key given twice, and beyond fifty
limits.policy | A policy has 10 KB. | operations/permission.test.ts > putPermission > a request with %o ends as %s
limits.token | A page token lives 24 hours. | operations/event-bus.test.ts > listEventBuses > refuses a token of another listing, of another caller, and one that is a day old
limits.pending-source | A partner source is PENDING for two weeks at most. | operations/event-source.test.ts > a partner event source > that is pending for two weeks is deleted, with or without its bus
limits.replay-interval | A replay goes in steps of a minute. | work/replay-job.test.ts > the steps of a replay > go by event time, each within one minute, the earliest first
limits.retention | The retention of an archive is 0 unless it is given. | operations/archive.test.ts > an archive > keeps what matches its pattern, and tells how much

versioning.selection | A caller chooses the revision; A is meant where none is chosen. | access/revision.test.ts > the choice of a revision > is made in dialect %s by %s and not by %s
versioning.1 | Only A has global endpoints. | access/revision.test.ts > the revisions of the interface differ > in %s of %s
versioning.2 | Only A limits nesting and targets. | access/revision.test.ts > the revisions of the interface differ > in %s of %s
versioning.3 | Only in A can a deletion be repeated, and a bus that is not there is refused. | access/revision.test.ts > the revisions of the interface differ > in %s of %s
versioning.4 | The ARN that feeds an archive is a bus's in A, an event source's in B. | access/revision.test.ts > the revisions of the interface differ > in the source by which replays are listed: an archive, in B also the bus that fed it
versioning.5 | The revisions differ in the statement id, in whose policy is limited, and in the action. | access/revision.test.ts > the revisions of the interface differ > in %s of %s
versioning.6 | In A the role for an organization stands in the target. | access/put-access.test.ts > a rule of %s, %s, with the record %j and %j may put: %s
`,
);
