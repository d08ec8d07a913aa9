# The SDK for Ruby against object storage: what its users call, told nothing but an endpoint and a key in the environment.

require "aws-sdk-s3"
require "minitest/autorun"
require "net/http"
require "openssl"
require "securerandom"
require "stringio"
require "tempfile"

class StorageTest < Minitest::Test
  PART_BYTES = 5 * 1024 * 1024
  KEY = "reports/ü?+ a b.txt"

  def setup
    @s3 = Aws::S3::Client.new(endpoint: ENV.fetch("AWS_ENDPOINT_URL"), force_path_style: true)
    @bucket = "ruby-#{SecureRandom.hex(6)}"
    @s3.create_bucket(bucket: @bucket)
  end

  def teardown
    bucket.object_versions.batch_delete!
    @s3.delete_bucket(bucket: @bucket)
  end

  def test_an_object_with_metadata_and_tags
    put = @s3.put_object(bucket: @bucket, key: KEY, body: "hello", metadata: { "team" => "shop" }, tagging: "a=b&c=d%20e")
    assert_equal '"5d41402abc4b2a76b9719d911017c592"', put.etag
    got = @s3.get_object(bucket: @bucket, key: KEY)
    assert_equal ["hello", { "team" => "shop" }, 2], [got.body.read, got.metadata, got.tag_count]
    assert_equal [KEY], bucket.objects.map(&:key)
  end

  def test_refusals_have_their_classes
    assert_raises(Aws::S3::Errors::NotFound) { @s3.head_object(bucket: @bucket, key: "none") }
    assert_raises(Aws::S3::Errors::NoSuchKey) { @s3.get_object(bucket: @bucket, key: "none") }
    @s3.put_object(bucket: @bucket, key: "kept", body: "")
    assert_raises(Aws::S3::Errors::BucketNotEmpty) { @s3.delete_bucket(bucket: @bucket) }
  end

  def test_a_file_in_parts_and_back_in_ranges
    Tempfile.create("up") do |file|
      file.binmode
      file.write(Random.new(1).bytes(3 * PART_BYTES + 7))
      file.flush
      assert bucket.object("file").upload_file(file.path, multipart_threshold: PART_BYTES)
      bucket.object("copy").copy_from("#{@bucket}/file", multipart_copy: true, content_length: 3 * PART_BYTES + 7)
      Tempfile.create("down") do |back|
        bucket.object("copy").download_file(back.path, mode: "get_range", chunk_size: PART_BYTES)
        assert_equal Digest::SHA256.file(file.path).hexdigest, Digest::SHA256.file(back.path).hexdigest
      end
    end
  end

  def test_a_stream_of_unknown_length
    bucket.object("stream").upload_stream(part_size: PART_BYTES) do |stream|
      stream.binmode
      6.times { |each| stream << each.to_s * (1024 * 1024) }
    end
    assert_equal 6 * 1024 * 1024, bucket.object("stream").content_length
  end

  def test_signed_addresses_and_forms
    @s3.put_object(bucket: @bucket, key: "shared", body: "to all who have the address")
    address = Aws::S3::Presigner.new(client: @s3).presigned_url(:get_object, bucket: @bucket, key: "shared", expires_in: 60)
    assert_equal "to all who have the address", Net::HTTP.get(URI(address))

    form = bucket.presigned_post(key: "posted", success_action_status: "201")
    request = Net::HTTP::Post.new(URI(form.url))
    request.set_form([*form.fields, ["file", StringIO.new("by a form"), { filename: "f" }]], "multipart/form-data")
    answer = Net::HTTP.start(request.uri.host, request.uri.port) { |http| http.request(request) }
    assert_equal ["201", "by a form"], [answer.code, bucket.object("posted").get.body.read]
  end

  def test_versions_and_waiters
    @s3.put_bucket_versioning(bucket: @bucket, versioning_configuration: { status: "Enabled" })
    first = @s3.put_object(bucket: @bucket, key: "v", body: "1").version_id
    @s3.put_object(bucket: @bucket, key: "v", body: "2")
    @s3.delete_object(bucket: @bucket, key: "v")
    @s3.wait_until(:object_not_exists, bucket: @bucket, key: "v")
    assert_equal "1", @s3.get_object(bucket: @bucket, key: "v", version_id: first).body.read
    assert_equal 3, bucket.object_versions.count
  end

  def test_a_query
    @s3.put_object(bucket: @bucket, key: "csv", body: "name,age\nada,36\nalan,41\n")
    found = +""
    @s3.select_object_content(
      bucket: @bucket,
      key: "csv",
      expression: "SELECT s.name FROM S3Object s WHERE CAST(s.age AS INT) > 40",
      expression_type: "SQL",
      input_serialization: { csv: { file_header_info: "USE" } },
      output_serialization: { csv: {} },
    ) { |stream| stream.on_records_event { |event| found << event.payload.read } }
    assert_equal "alan\n", found
  end

  def test_content_that_the_client_encrypts
    client = Aws::S3::EncryptionV2::Client.new(
      client: @s3,
      encryption_key: OpenSSL::Cipher.new("aes-256-gcm").random_key,
      key_wrap_schema: :aes_gcm,
      content_encryption_schema: :aes_gcm_no_padding,
      security_profile: :v2,
    )
    client.put_object(bucket: @bucket, key: "secret", body: "only mine")
    assert_equal "only mine", client.get_object(bucket: @bucket, key: "secret").body.read
    refute_includes @s3.get_object(bucket: @bucket, key: "secret").body.read, "only mine"
  end

  private

  def bucket
    Aws::S3::Bucket.new(@bucket, client: @s3)
  end
end
