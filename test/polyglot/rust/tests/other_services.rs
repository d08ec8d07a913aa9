//! What the official SDK for Rust does with the event bus, customer profiles, workspaces and tokens, as it comes.

use std::error::Error;
use std::process::id;
use std::time::SystemTime;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_customerprofiles::types::{ObjectTypeField, ObjectTypeKey, StandardIdentifier};
use aws_sdk_eventbridge::types::{PutEventsRequestEntry, Target};
use aws_sdk_migrationhubrefactorspaces::types::{NetworkFabricType, ProxyType, ServiceEndpointType, UrlEndpointInput};

type Outcome = Result<(), Box<dyn Error>>;

async fn config() -> SdkConfig {
    aws_config::load_defaults(BehaviorVersion::latest()).await
}

#[tokio::test]
async fn buses_rules_and_events() -> Outcome {
    let client = aws_sdk_eventbridge::Client::new(&config().await);
    let bus = format!("rust-{}", id());
    let arn = client.create_event_bus().name(&bus).send().await?.event_bus_arn.unwrap();
    let pattern = r#"{"source":["shop"]}"#;
    client.put_rule().name("sales").event_bus_name(&bus).event_pattern(pattern).send().await?;
    let group = "arn:aws:logs:us-east-1:000000000000:log-group:/aws/events/rust";
    let target = Target::builder().id("log").arn(group).build()?;
    let put = client.put_targets().rule("sales").event_bus_name(&bus).targets(target.clone()).send().await?;
    assert_eq!(put.failed_entry_count(), 0);
    let listed = client.list_targets_by_rule().rule("sales").event_bus_name(&bus).send().await?;
    assert_eq!(listed.targets(), [target]);

    let sale = PutEventsRequestEntry::builder().source("shop").detail_type("Sale").detail("{}").event_bus_name(&bus);
    let put = client.put_events().entries(sale.time(SystemTime::now().into()).build()).send().await?;
    assert_eq!(put.failed_entry_count(), 0);
    let event = r#"{"id":"1","account":"1","source":"shop","time":"2026-01-01T00:00:00Z","region":"r",
        "resources":[],"detail-type":"Sale","detail":{}}"#;
    assert!(client.test_event_pattern().event_pattern(pattern).event(event).send().await?.result());
    let archive = format!("rust-{}", id());
    client.create_archive().archive_name(&archive).event_source_arn(&arn).send().await?;
    client.delete_archive().archive_name(&archive).send().await?;

    let none = client.describe_rule().name("none").send().await;
    assert!(none.unwrap_err().into_service_error().is_resource_not_found_exception());
    let again = client.create_event_bus().name(&bus).send().await;
    assert!(again.unwrap_err().into_service_error().is_resource_already_exists_exception());
    let broken = client.put_rule().name("broken").event_pattern("{").send().await;
    assert!(broken.unwrap_err().into_service_error().is_invalid_event_pattern_exception());

    client.remove_targets().rule("sales").event_bus_name(&bus).ids("log").send().await?;
    client.delete_rule().name("sales").event_bus_name(&bus).send().await?;
    client.delete_event_bus().name(&bus).send().await?;
    Ok(())
}

#[tokio::test]
async fn domains_profiles_and_object_types() -> Outcome {
    let client = aws_sdk_customerprofiles::Client::new(&config().await);
    let domain = format!("rust-{}", id());
    client.create_domain().domain_name(&domain).default_expiration_days(30).tags("a", "b").send().await?;
    let create = client.create_profile().domain_name(&domain).first_name("Ada").account_number("7");
    let profile = create.attributes("x", "y").send().await?.profile_id;
    let found = client.search_profiles().domain_name(&domain).key_name("_account").values("7").send().await?;
    let [only] = found.items() else { panic!("{} profiles are found", found.items().len()) };
    assert_eq!(only.profile_id(), Some(profile.as_str()));

    let field = ObjectTypeField::builder().source("_source.id").target("_profile.AccountNumber").build();
    let identifiers = vec![StandardIdentifier::Unique, StandardIdentifier::Profile];
    let key = ObjectTypeKey::builder().set_standard_identifiers(Some(identifiers)).field_names("id").build();
    let put = client.put_profile_object_type().domain_name(&domain).object_type_name("order").description("Orders");
    put.fields("id", field).keys("_order", vec![key]).send().await?;
    let types = client.list_profile_object_types().domain_name(&domain).send().await?;
    assert_eq!(types.items().iter().map(|each| each.object_type_name()).collect::<Vec<_>>(), ["order"]);

    let none = client.get_domain().domain_name(format!("{domain}-none")).send().await;
    assert!(none.unwrap_err().into_service_error().is_resource_not_found_exception());
    let again = client.create_domain().domain_name(&domain).default_expiration_days(30).send().await;
    assert!(again.unwrap_err().into_service_error().is_bad_request_exception());
    client.delete_domain().domain_name(&domain).send().await?;
    Ok(())
}

#[tokio::test]
async fn environments_applications_and_services() -> Outcome {
    let client = aws_sdk_migrationhubrefactorspaces::Client::new(&config().await);
    let create = client.create_environment().name(format!("rust-{}", id()));
    let environment = create.network_fabric_type(NetworkFabricType::None).send().await?.environment_id.unwrap();
    let create = client.create_application().name("shop").environment_identifier(&environment).vpc_id("vpc-12345678");
    let application = create.proxy_type(ProxyType::ApiGateway).send().await?.application_id.unwrap();
    let create = client.create_service().name("orders").environment_identifier(&environment);
    let service = create
        .application_identifier(&application)
        .endpoint_type(ServiceEndpointType::Url)
        .url_endpoint(UrlEndpointInput::builder().url("http://127.0.0.1:9").build()?)
        .vpc_id("vpc-12345678")
        .send()
        .await?;
    assert!(service.service_id().is_some_and(|id| id.starts_with("svc-")));
    let mut pages = client.list_environments().into_paginator().page_size(1).send();
    let mut ids = vec![];
    while let Some(page) = pages.next().await {
        ids.extend(
            page?.environment_summary_list.unwrap_or_default().into_iter().filter_map(|each| each.environment_id),
        );
    }
    assert!(ids.contains(&environment));
    let none = client.get_environment().environment_identifier("env-0000000000").send().await;
    assert!(none.unwrap_err().into_service_error().is_resource_not_found_exception());
    Ok(())
}

#[tokio::test]
async fn who_calls() -> Outcome {
    let identity = aws_sdk_sts::Client::new(&config().await).get_caller_identity().send().await?;
    assert_eq!(identity.account(), Some("000000000000"));
    assert_eq!(identity.arn(), Some("arn:aws:iam::000000000000:root"));
    Ok(())
}
