import { readRows } from "./coverage-row.ts";

/** What is documented of refactoring workspaces, and the test that shows each statement. */
export const refactoringWorkspaceRows = readRows(
  "refactoring-workspace",
  `
what.1a | An environment holds applications, which hold services and routes. | operations/application.test.ts > deleteApplication > refuses an application that holds routes, then one that holds services
what.1b | A route sends the traffic that matches it to one service of the application. | operations/route.test.ts > updateRoute > moves traffic with its answer: to the route when active, back to the default route when inactive
what.1c | The default route takes what no other route matches. | operations/route.test.ts > createRoute > answers an active default route whose traffic reaches the service at once
what.2a | The account that makes an environment owns it. | operations/environment.test.ts > createEnvironment > answers a ready environment, and getEnvironment tells the same with its transit gateway
what.2b | The owner of the environment owns all in it, whichever account made it. | access/neighbours.test.ts > an application, a service and a route belong to the environment's owner and name who made them
what.2c | The owner sees and controls what the accounts add with which the environment is shared. | access/neighbours.test.ts > the owner sees and removes what the neighbour made, and the neighbour only while it is shared
what.3a | Making an application makes a proxy, a private link and a load balancer of the owner's. | operations/application.test.ts > createApplication > answers the settings of the proxy, and getApplication tells where it is reached
what.3b | Making an environment with a transit gateway makes one. | operations/environment.test.ts > createEnvironment > answers a ready environment, and getEnvironment tells the same with its transit gateway
what.4a | Resources carry tags. | operations/tag.test.ts > tagResource, untagResource and listTagsForResource > add, change and remove the tags of every kind of resource
what.4b | Tags are not passed on to what the service makes, such as the transit gateway. | operations/environment.test.ts > createEnvironment > does not pass tags on to the transit gateway that it makes

fields.environment | An environment has all its documented members. | operations/environment.test.ts > createEnvironment > answers a ready environment, and getEnvironment tells the same with its transit gateway
fields.application | An application has all its documented members. | operations/application.test.ts > createApplication > answers the settings of the proxy, and getApplication tells where it is reached
fields.application.proxy | The settings of an application's proxy are its endpoint type and stage name. | operations/application.test.ts > createApplication > takes a stage name and an endpoint type
fields.service | A service has all its documented members. | operations/service.test.ts > createService > answers a service at a URL, and getService tells the same
fields.service.function | A service can be a function. | operations/service.test.ts > createService > answers a function
fields.route | A route has all its documented members. | operations/route.test.ts > createRoute > answers a route by path as it was asked, and getRoute flattens it
fields.resource-policy | A resource policy is JSON text on an ARN. | operations/resource-policy.test.ts > putResourcePolicy and getResourcePolicy > keep the policy as it is written, and the last one counts

rules.1a | A client token makes a creation idempotent. | operations/client-token.test.ts > a client token > gets the first answer again for the same request, word for word, whatever happened since
rules.1b | Client tokens are told apart by case. | operations/client-token.test.ts > a client token > is told apart by case, account and operation, and costs nothing when the call was refused
rules.2a | Every resource tells its owner. | operations/route.test.ts > createRoute > answers an active default route whose traffic reaches the service at once
rules.2b | Only the owner lists and changes tags. | operations/tag.test.ts > tagResource, untagResource and listTagsForResource > refuse, in this order
rules.3 | A service has a URL or a function, not both. | operations/service.test.ts > createService > refuses, in this order
rules.4a | A policy can be put on an environment. | operations/resource-policy.test.ts > putResourcePolicy and getResourcePolicy > keep the policy as it is written, and the last one counts
rules.4b | A policy has the actions and conditions of the default permission. | access/neighbours.test.ts > a policy on %s %s lets the neighbour make %j
rules.4c | A policy has no line breaks and no blank lines. | operations/resource-policy.test.ts > putResourcePolicy and getResourcePolicy > refuse, in this order
rules.5 | Services reach a resource in a service's VPC that carries the workspace's security group. | pending

states.default-first | The first route of an application is of type DEFAULT. | operations/route.test.ts > createRoute > refuses, in this order
states.default-active | A default route is active unless it is asked for inactive. | operations/route.test.ts > createRoute > answers an active default route whose traffic reaches the service at once
states.health-once | A health check runs when a route is made active. | operations/route.test.ts > createRoute > answers FAILED with its error when the service does not pass its health check, and sends it no traffic
states.create-failed | A failed check leaves a new route FAILED, with its error and without traffic. | operations/route.test.ts > createRoute > answers FAILED with its error when the service does not pass its health check, and sends it no traffic
states.activate | Activating checks the service and then sends it traffic. | operations/route.test.ts > updateRoute > moves traffic with its answer: to the route when active, back to the default route when inactive
states.activate-failed | A failed check at the move leaves the route FAILED. | operations/route.test.ts > updateRoute > answers FAILED when the check fails at the move, and ACTIVE without error when it passes later
states.default-inactive | The default route becomes inactive only when all others are. | operations/route.test.ts > updateRoute > refuses, in this order
states.default-needed | No route is active without an active default route. | operations/route.test.ts > updateRoute > never leaves an active route without an active default route, whoever wins
states.health.function | A function must exist, or the check fails. | health/health-check.test.ts > a function > told as %i %s is %s
states.health.function-inactive | The configuration of a function that is not active is updated, so that it is provisioned. | health/health-check.test.ts > a function > that is inactive is provisioned by an update of its configuration, answered %i: %s
states.health.function-failed | A function in a failed state does not pass its check. | health/health-check.test.ts > a function > told as %i %s is %s
states.health.public | A public URL is healthy when a connection opens. | health/health-check.test.ts > a public URL > is healthy when a connection opens, secured for https, and nothing is asked
states.health.public-failed | A public URL that cannot be reached is unhealthy. | health/health-check.test.ts > a public URL > that takes no connection is unhealthy after two attempts
states.health.private | A private URL is asked at its path, or at that of its health URL. | health/health-check.test.ts > a private URL > is asked at its path and query, or at those of its health URL
states.health.private-one | One healthy address of a private URL is enough. | health/health-check.test.ts > a private URL > is healthy when one of its addresses is, and unhealthy when none is
states.traffic.private | Traffic to a private address goes through the private link. | proxy/private-link.test.ts > traffic to a private address > goes through the application's private link, its health check too
states.traffic.public | Traffic to a public address goes over the public internet. | proxy/private-link.test.ts > traffic to a public address > goes over the public internet, by the egress proxy where there is one, and never through the link
states.traffic.function | A function's policy is set to let the application's gateway invoke it. | work/function-permissions.test.ts > the policy of a function > lets the application's gateway invoke it before a route to it is active, and no longer after its deletion
states.delete-application | An application is deleted only after its services and routes. | operations/application.test.ts > deleteApplication > refuses an application that holds routes, then one that holds services
states.delete-environment | An environment is deleted only after what it holds. | operations/environment.test.ts > deleteEnvironment > refuses an environment that holds an application, and one of another account

operations.create_application | Makes an application in an environment. | operations/application.test.ts > createApplication > answers the settings of the proxy, and getApplication tells where it is reached
operations.create_environment | Makes an environment. | operations/environment.test.ts > createEnvironment > answers a ready environment, and getEnvironment tells the same with its transit gateway
operations.create_route | Makes a route to a service. | operations/route.test.ts > createRoute > answers a route by path as it was asked, and getRoute flattens it
operations.create_service | Makes a service. | operations/service.test.ts > createService > answers a service at a URL, and getService tells the same
operations.delete_application | Deletes an application. | operations/application.test.ts > deleteApplication > answers DELETING, and the proxy knows it no more
operations.delete_environment | Deletes an environment. | operations/environment.test.ts > deleteEnvironment > answers DELETING, and the environment is gone
operations.delete_route | Deletes a route. | operations/route.test.ts > deleteRoute > answers DELETING, and the traffic goes to the default route at once
operations.delete_service | Deletes a service. | operations/service.test.ts > deleteService > answers DELETING, and the service is gone
operations.delete_service.security-group | The workspace's security group is taken off first. | pending
operations.get_application | Tells an application. | operations/application.test.ts > createApplication > answers the settings of the proxy, and getApplication tells where it is reached
operations.get_environment | Tells an environment. | operations/environment.test.ts > createEnvironment > answers a ready environment, and getEnvironment tells the same with its transit gateway
operations.get_resource_policy | Tells an environment's policy. | operations/resource-policy.test.ts > putResourcePolicy and getResourcePolicy > keep the policy as it is written, and the last one counts
operations.get_route | Tells a route. | operations/route.test.ts > createRoute > answers a route by path as it was asked, and getRoute flattens it
operations.get_service | Tells a service. | operations/service.test.ts > createService > answers a service at a URL, and getService tells the same
operations.list_applications | Lists an environment's applications in pages. | operations/application.test.ts > listApplications > lists an environment's applications by id, page by page, and nothing of others
operations.list_environment_vpcs | Lists the VPCs of an environment's services. | operations/environment.test.ts > listEnvironmentVpcs > lists each VPC of the services once, for as long as one stands in it
operations.list_environments | Lists the caller's environments. | operations/environment.test.ts > listEnvironments > lists the caller's own by id, page by page
operations.list_environments.shared | Lists environments that are shared with the caller. | operations/environment.test.ts > listEnvironments > lists what is shared with the caller among its own, for as long as it is
operations.list_routes | Lists an application's routes in pages. | operations/route.test.ts > listRoutes > lists an application's routes by id, page by page
operations.list_services | Lists an application's services in pages. | operations/service.test.ts > listServices > lists an application's services by id, page by page
operations.list_tags_for_resource | Lists tags, for the owner. | operations/tag.test.ts > tagResource, untagResource and listTagsForResource > add, change and remove the tags of every kind of resource
operations.put_resource_policy | Puts a policy on an environment. | operations/resource-policy.test.ts > putResourcePolicy and getResourcePolicy > keep the policy as it is written, and the last one counts
operations.tag_resource | Adds or changes tags, for the owner. | operations/tag.test.ts > tagResource, untagResource and listTagsForResource > add, change and remove the tags of every kind of resource
operations.untag_resource | Removes tags, for the owner. | operations/tag.test.ts > tagResource, untagResource and listTagsForResource > add, change and remove the tags of every kind of resource
operations.update_route | Activates or deactivates a route. | operations/route.test.ts > updateRoute > moves traffic with its answer: to the route when active, back to the default route when inactive
operations.required-members | Each operation declares the members that it requires. | /contract/members.test.ts > the members of the contract > differ from the public model of $api only where it is meant

create-route.first | A first route of another type is refused. | operations/route.test.ts > createRoute > refuses, in this order
create-route.default | A default route takes all that no other route takes. | operations/route.test.ts > createRoute > answers an active default route whose traffic reaches the service at once
create-route.path | A route of type URI_PATH goes by the path. | operations/route.test.ts > updateRoute > moves traffic with its answer: to the route when active, back to the default route when inactive
create-route.owner | A route belongs to the environment's owner, whichever account made it. | access/neighbours.test.ts > an application, a service and a route belong to the environment's owner and name who made them
create-service.owner | A service belongs to the environment's owner, whichever account made it. | access/neighbours.test.ts > an application, a service and a route belong to the environment's owner and name who made them
create-service.resolved | A service's address is resolved again when its time is over, at least every 60 seconds. | proxy/upstreams.test.ts > a service's name > is resolved again after 60 seconds, and open connections go on to the new address
create-service.schemes | HTTP and HTTPS addresses are taken. | health/health-check.test.ts > a public URL > is healthy when a connection opens, secured for https, and nothing is asked
create-service.certificates | Certificates that are publicly signed are trusted over HTTPS. | proxy/certificates.test.ts > a service over HTTPS > gets traffic when its certificate is publicly signed, over a WebSocket too
create-service.private-authorities | Private authorities are trusted only when their domain can be resolved publicly. | proxy/certificates.test.ts > a private authority > of the domain %s, %s

authentication.1 | A resource policy decides what other accounts may do. | access/policies.test.ts > %s reaches what the policies allow, and nothing else
authentication.2 | Tags are the owner's alone. | operations/tag.test.ts > tagResource, untagResource and listTagsForResource > refuse, in this order

errors.health-check | A failed check is told with its own error code on a FAILED route. | operations/route.test.ts > createRoute > answers FAILED with its error when the service does not pass its health check, and sends it no traffic
errors.health-check-update | So is a failed check at an update. | operations/route.test.ts > updateRoute > answers FAILED when the check fails at the move, and ACTIVE without error when it passes later
errors.function-failed | The creation of a route to a function in a failed state fails. | operations/route.test.ts > createRoute > fails for a function in a failed state, with the error of its check
errors.code-spelling | The code of a failed check is written without underscores in the documented dialect. | /gateway/codecs/json-members.test.ts > the code of a failed health check has no underscores in the documented dialect

limits.resolution | Public names are resolved again when their time is over, at least every 60 seconds. | proxy/upstreams.test.ts > a service's name > is resolved again after 60 seconds, and open connections go on to the new address
`,
);
