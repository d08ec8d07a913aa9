//! What the official SDK for Rust does with object storage, as it comes: the address, region and key of the variables
//! that all SDKs read, and buckets in the path. Each test has buckets of its own, named after the process.

use std::error::Error;
use std::process::{Command, id};
use std::time::{Duration, SystemTime};

use aws_config::BehaviorVersion;
use aws_sdk_s3::Client;
use aws_sdk_s3::client::Waiters;
use aws_sdk_s3::config::Builder;
use aws_sdk_s3::presigning::PresigningConfig;
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::{
    BucketLifecycleConfiguration, BucketVersioningStatus, ChecksumAlgorithm, ChecksumMode, ChecksumType,
    CompletedMultipartUpload, CompletedPart, CorsConfiguration, CorsRule, CsvInput, CsvOutput, Delete,
    ExpirationStatus, ExpressionType, FileHeaderInfo, InputSerialization, LifecycleExpiration, LifecycleRule,
    LifecycleRuleFilter, ObjectAttributes, ObjectIdentifier, ObjectLockLegalHold, ObjectLockLegalHoldStatus,
    ObjectLockMode, ObjectLockRetentionMode, OutputSerialization, SelectObjectContentEventStream, Tag, Tagging,
    VersioningConfiguration,
};

type Outcome = Result<(), Box<dyn Error>>;

const MEBIBYTE: usize = 1024 * 1024;

async fn client() -> Client {
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    Client::from_conf(Builder::from(&config).force_path_style(true).build())
}

async fn client_with_bucket(name: &str) -> Result<(Client, String), Box<dyn Error>> {
    let client = client().await;
    let bucket = format!("rust-{name}-{}", id());
    client.create_bucket().bucket(&bucket).send().await?;
    Ok((client, bucket))
}

async fn put(client: &Client, bucket: &str, key: &str, body: &'static [u8]) -> Outcome {
    let body = ByteStream::from_static(body);
    client.put_object().bucket(bucket).key(key).body(body).send().await?;
    Ok(())
}

#[tokio::test]
async fn an_object_with_metadata_under_a_name_that_is_escaped() -> Outcome {
    let (client, bucket) = client_with_bucket("object").await?;
    let key = "a b/é+%.txt";
    let body = ByteStream::from_static(b"hello");
    client.put_object().bucket(&bucket).key(key).body(body).metadata("k", "v w").content_type("text/x").send().await?;
    let read = client.get_object().bucket(&bucket).key(key).checksum_mode(ChecksumMode::Enabled).send().await?;
    assert_eq!(read.content_type(), Some("text/x"));
    assert_eq!(read.checksum_crc32(), Some("NhCmhg=="));
    assert_eq!(read.metadata().and_then(|all| all.get("k")).map(String::as_str), Some("v w"));
    assert_eq!(read.body.collect().await?.into_bytes(), "hello");

    let source = format!("{bucket}/a%20b/%C3%A9%2B%25.txt");
    client.copy_object().bucket(&bucket).key("copy").copy_source(source).send().await?;
    let head = client.head_object().bucket(&bucket).key("copy").send().await?;
    assert_eq!(head.content_length(), Some(5));

    let tag = Tag::builder().key("a").value("b c").build()?;
    let tagging = Tagging::builder().tag_set(tag).build()?;
    client.put_object_tagging().bucket(&bucket).key("copy").tagging(tagging).send().await?;
    let tags = client.get_object_tagging().bucket(&bucket).key("copy").send().await?;
    assert_eq!(tags.tag_set()[0].value(), "b c");
    Ok(())
}

/// The SDK sends the checksum of a file after its content, and compares that of what it reads.
#[tokio::test]
async fn a_file_with_each_checksum() -> Outcome {
    let (client, bucket) = client_with_bucket("file").await?;
    let path = std::env::temp_dir().join(&bucket);
    std::fs::write(&path, vec![7; 3_000_001])?;
    for algorithm in [
        ChecksumAlgorithm::Crc32,
        ChecksumAlgorithm::Crc32C,
        ChecksumAlgorithm::Crc64Nvme,
        ChecksumAlgorithm::Sha1,
        ChecksumAlgorithm::Sha256,
    ] {
        let body = ByteStream::from_path(&path).await?;
        client.put_object().bucket(&bucket).key("file").checksum_algorithm(algorithm).body(body).send().await?;
        let read = client.get_object().bucket(&bucket).key("file").checksum_mode(ChecksumMode::Enabled).send().await?;
        assert_eq!(read.body.collect().await?.into_bytes().len(), 3_000_001);
    }
    std::fs::remove_file(path)?;
    let range = client.get_object().bucket(&bucket).key("file").range("bytes=10-19").send().await?;
    assert_eq!(range.content_range(), Some("bytes 10-19/3000001"));
    assert_eq!(range.body.collect().await?.into_bytes().len(), 10);
    Ok(())
}

#[tokio::test]
async fn refusals_are_the_errors_of_the_model() -> Outcome {
    let (client, bucket) = client_with_bucket("refusals").await?;
    put(&client, &bucket, "key", b"x").await?;
    let get = client.get_object().bucket(&bucket).key("none").send().await;
    assert!(get.unwrap_err().into_service_error().is_no_such_key());
    let head = client.head_object().bucket(&bucket).key("none").send().await;
    assert!(head.unwrap_err().into_service_error().is_not_found());
    let list = client.list_objects_v2().bucket(format!("{bucket}-none")).send().await;
    assert!(list.unwrap_err().into_service_error().is_no_such_bucket());
    let body = ByteStream::from_static(b"y");
    let again = client.put_object().bucket(&bucket).key("key").if_none_match("*").body(body).send().await;
    assert_eq!(again.unwrap_err().raw_response().map(|answer| answer.status().as_u16()), Some(412));
    Ok(())
}

#[tokio::test]
async fn pages_of_keys() -> Outcome {
    let (client, bucket) = client_with_bucket("pages").await?;
    for number in 0..25 {
        put(&client, &bucket, &format!("{number:03}"), b"").await?;
    }
    let mut pages = client.list_objects_v2().bucket(&bucket).into_paginator().page_size(7).send();
    let mut sizes = vec![];
    while let Some(page) = pages.next().await {
        sizes.push(page?.contents().len());
    }
    assert_eq!(sizes, [7, 7, 7, 4]);
    Ok(())
}

/// Without an algorithm the SDK sends the CRC32 of each part, and names none of them when it completes the upload.
#[tokio::test]
async fn uploads_in_parts() -> Outcome {
    let (client, bucket) = client_with_bucket("parts").await?;
    for checksum in [
        None,
        Some((ChecksumAlgorithm::Crc32, ChecksumType::Composite)),
        Some((ChecksumAlgorithm::Crc64Nvme, ChecksumType::FullObject)),
        Some((ChecksumAlgorithm::Sha256, ChecksumType::Composite)),
    ] {
        let (algorithm, kind) = checksum.clone().unzip();
        let begin = client.create_multipart_upload().bucket(&bucket).key("parts");
        let upload =
            begin.set_checksum_algorithm(algorithm.clone()).set_checksum_type(kind).send().await?.upload_id.unwrap();
        let mut parts = vec![];
        for number in 1..=3 {
            let size = if number < 3 { 5 * MEBIBYTE } else { 100 };
            let part = client.upload_part().bucket(&bucket).key("parts").upload_id(&upload).part_number(number);
            let body = ByteStream::from(vec![number as u8; size]);
            let sent = part.set_checksum_algorithm(algorithm.clone()).body(body).send().await?;
            let named = CompletedPart::builder().part_number(number).set_e_tag(sent.e_tag);
            parts.push(match checksum {
                None => named.build(),
                Some(_) => named
                    .set_checksum_crc32(sent.checksum_crc32)
                    .set_checksum_crc64_nvme(sent.checksum_crc64_nvme)
                    .set_checksum_sha256(sent.checksum_sha256)
                    .build(),
            });
        }
        let listed = client.list_parts().bucket(&bucket).key("parts").upload_id(&upload).send().await?;
        assert_eq!(listed.parts().len(), 3);
        let whole = CompletedMultipartUpload::builder().set_parts(Some(parts)).build();
        let end = client.complete_multipart_upload().bucket(&bucket).key("parts");
        end.upload_id(&upload).multipart_upload(whole).send().await?;
        let read = client.get_object().bucket(&bucket).key("parts").checksum_mode(ChecksumMode::Enabled).send().await?;
        assert_eq!(read.body.collect().await?.into_bytes().len(), 10 * MEBIBYTE + 100);
    }
    let asked = client.get_object_attributes().bucket(&bucket).key("parts");
    let attributes = asked
        .object_attributes(ObjectAttributes::ObjectSize)
        .object_attributes(ObjectAttributes::ObjectParts)
        .object_attributes(ObjectAttributes::Checksum)
        .send()
        .await?;
    assert_eq!(attributes.object_size(), Some(10 * MEBIBYTE as i64 + 100));
    assert_eq!(attributes.object_parts().and_then(|parts| parts.total_parts_count()), Some(3));
    assert!(attributes.checksum().and_then(|checksum| checksum.checksum_sha256()).is_some());

    let begin = client.create_multipart_upload().bucket(&bucket).key("copied");
    let upload = begin.send().await?.upload_id.unwrap();
    let copy = client.upload_part_copy().bucket(&bucket).key("copied").upload_id(&upload).part_number(1);
    let copied = copy.copy_source(format!("{bucket}/parts")).copy_source_range("bytes=0-99").send().await?;
    let e_tag = copied.copy_part_result.and_then(|part| part.e_tag);
    let part = CompletedPart::builder().part_number(1).set_e_tag(e_tag).build();
    let whole = CompletedMultipartUpload::builder().parts(part).build();
    let end = client.complete_multipart_upload().bucket(&bucket).key("copied");
    end.upload_id(&upload).multipart_upload(whole).send().await?;
    let head = client.head_object().bucket(&bucket).key("copied").send().await?;
    assert_eq!(head.content_length(), Some(100));

    let upload = client.create_multipart_upload().bucket(&bucket).key("x").send().await?.upload_id.unwrap();
    assert_eq!(client.list_multipart_uploads().bucket(&bucket).send().await?.uploads().len(), 1);
    client.abort_multipart_upload().bucket(&bucket).key("x").upload_id(upload).send().await?;
    assert_eq!(client.list_multipart_uploads().bucket(&bucket).send().await?.uploads().len(), 0);
    Ok(())
}

fn curl(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    Ok(String::from_utf8(Command::new("curl").arg("--silent").args(arguments).output()?.stdout)?)
}

#[tokio::test]
async fn signed_addresses() -> Outcome {
    let (client, bucket) = client_with_bucket("signed").await?;
    let minute = PresigningConfig::expires_in(Duration::from_secs(60))?;
    let put = client.put_object().bucket(&bucket).key("a b").presigned(minute.clone()).await?;
    curl(&["--fail-with-body", "--request", "PUT", "--data", "hi", "--header", "content-type:", put.uri()])?;
    let get = client.get_object().bucket(&bucket).key("a b").response_content_type("text/x").presigned(minute).await?;
    assert_eq!(curl(&["--write-out", " %{content_type}", get.uri()])?, "hi text/x");
    Ok(())
}

#[tokio::test]
async fn versions_and_deletions_of_many() -> Outcome {
    let (client, bucket) = client_with_bucket("versions").await?;
    let enabled = VersioningConfiguration::builder().status(BucketVersioningStatus::Enabled).build();
    client.put_bucket_versioning().bucket(&bucket).versioning_configuration(enabled).send().await?;
    let body = ByteStream::from_static(b"1");
    let first = client.put_object().bucket(&bucket).key("v").body(body).send().await?.version_id.unwrap();
    client.delete_object().bucket(&bucket).key("v").send().await?;
    let read = client.get_object().bucket(&bucket).key("v").version_id(first).send().await?;
    assert_eq!(read.body.collect().await?.into_bytes(), "1");

    let listed = client.list_object_versions().bucket(&bucket).send().await?;
    assert_eq!((listed.versions().len(), listed.delete_markers().len()), (1, 1));
    let versions = listed.versions().iter().map(|each| (each.key(), each.version_id()));
    let markers = listed.delete_markers().iter().map(|each| (each.key(), each.version_id()));
    let all: Result<Vec<_>, _> = versions
        .chain(markers)
        .map(|(key, id)| {
            ObjectIdentifier::builder().set_key(key.map(Into::into)).set_version_id(id.map(Into::into)).build()
        })
        .collect();
    let delete = Delete::builder().set_objects(Some(all?)).build()?;
    let deleted = client.delete_objects().bucket(&bucket).delete(delete).send().await?;
    assert_eq!((deleted.deleted().len(), deleted.errors().len()), (2, 0));

    client.wait_until_bucket_exists().bucket(&bucket).wait(Duration::from_secs(10)).await?;
    client.delete_bucket().bucket(&bucket).send().await?;
    client.wait_until_bucket_not_exists().bucket(&bucket).wait(Duration::from_secs(10)).await?;
    Ok(())
}

#[tokio::test]
async fn configurations_of_a_bucket() -> Outcome {
    let (client, bucket) = client_with_bucket("configured").await?;
    let rule = LifecycleRule::builder()
        .id("old")
        .status(ExpirationStatus::Enabled)
        .filter(LifecycleRuleFilter::builder().prefix("tmp/").build())
        .expiration(LifecycleExpiration::builder().days(3).build())
        .build()?;
    let lifecycle = BucketLifecycleConfiguration::builder().rules(rule.clone()).build()?;
    client.put_bucket_lifecycle_configuration().bucket(&bucket).lifecycle_configuration(lifecycle).send().await?;
    let read = client.get_bucket_lifecycle_configuration().bucket(&bucket).send().await?;
    assert_eq!(read.rules(), [rule]);

    let rule = CorsRule::builder().allowed_methods("GET").allowed_origins("*").build()?;
    let cors = CorsConfiguration::builder().cors_rules(rule.clone()).build()?;
    client.put_bucket_cors().bucket(&bucket).cors_configuration(cors).send().await?;
    assert_eq!(client.get_bucket_cors().bucket(&bucket).send().await?.cors_rules(), [rule]);

    let policy = format!(
        r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":"s3:GetObject",
        "Principal":{{"AWS":"arn:aws:iam::000000000000:root"}},"Resource":"arn:aws:s3:::{bucket}/*"}}]}}"#
    );
    client.put_bucket_policy().bucket(&bucket).policy(&policy).send().await?;
    assert_eq!(client.get_bucket_policy().bucket(&bucket).send().await?.policy(), Some(policy.as_str()));
    let status = client.get_bucket_policy_status().bucket(&bucket).send().await?;
    assert_eq!(status.policy_status().and_then(|status| status.is_public()), Some(false));
    Ok(())
}

#[tokio::test]
async fn locks() -> Outcome {
    let client = client().await;
    let bucket = format!("rust-locked-{}", id());
    client.create_bucket().bucket(&bucket).object_lock_enabled_for_bucket(true).send().await?;
    let until = DateTime::from(SystemTime::now() + Duration::from_secs(3_600));
    let locked = client.put_object().bucket(&bucket).key("k").object_lock_mode(ObjectLockMode::Governance);
    locked.object_lock_retain_until_date(until).body(ByteStream::from_static(b"x")).send().await?;
    let read = client.get_object_retention().bucket(&bucket).key("k").send().await?;
    let mode = read.retention.and_then(|retention| retention.mode);
    assert_eq!(mode, Some(ObjectLockRetentionMode::Governance));
    let hold = ObjectLockLegalHold::builder().status(ObjectLockLegalHoldStatus::On).build();
    client.put_object_legal_hold().bucket(&bucket).key("k").legal_hold(hold.clone()).send().await?;
    let read = client.get_object_legal_hold().bucket(&bucket).key("k").send().await?;
    assert_eq!(read.legal_hold, Some(hold));
    Ok(())
}

/// The answer is a stream of the SDK's event messages.
#[tokio::test]
async fn a_query() -> Outcome {
    let (client, bucket) = client_with_bucket("query").await?;
    put(&client, &bucket, "t.csv", b"a,b\n1,2\n3,4\n").await?;
    let header = CsvInput::builder().file_header_info(FileHeaderInfo::Use).build();
    let query = client.select_object_content().bucket(&bucket).key("t.csv").expression_type(ExpressionType::Sql);
    let mut answer = query
        .expression("select a from s3object s where b = '4'")
        .input_serialization(InputSerialization::builder().csv(header).build())
        .output_serialization(OutputSerialization::builder().csv(CsvOutput::builder().build()).build())
        .send()
        .await?;
    let mut rows = vec![];
    let mut has_ended = false;
    while let Some(event) = answer.payload.recv().await? {
        match event {
            SelectObjectContentEventStream::Records(records) => rows.extend(records.payload.unwrap().into_inner()),
            SelectObjectContentEventStream::End(_) => has_ended = true,
            _ => {}
        }
    }
    assert_eq!((rows.as_slice(), has_ended), (b"3\n".as_slice(), true));
    Ok(())
}
