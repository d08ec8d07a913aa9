// Go clients of object storage against a running system: test_go_storage.py says where it is and with which key.
package storage

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/go-kit/log"
	"github.com/minio/minio-go/v7"
	miniocredentials "github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/thanos-io/objstore"
	objstores3 "github.com/thanos-io/objstore/providers/s3"
)

var (
	endpoint = os.Getenv("AWS_ENDPOINT_URL")
	keyID    = os.Getenv("AWS_ACCESS_KEY_ID")
	secret   = os.Getenv("AWS_SECRET_ACCESS_KEY")
)

const region = "us-east-1"

func host(t *testing.T) string {
	t.Helper()
	parsed, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Host
}

func content(t *testing.T, size int) []byte {
	t.Helper()
	bytes := make([]byte, size)
	if _, err := rand.Read(bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// With and without checksums in trailers, in one piece and in parts.
func TestMinioClient(t *testing.T) {
	for name, trailing := range map[string]bool{"headers": false, "trailers": true} {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			client, err := minio.New(host(t), &minio.Options{
				Creds:           miniocredentials.NewStaticV4(keyID, secret, ""),
				Region:          region,
				TrailingHeaders: trailing,
			})
			check(t, err)
			bucket := "minio-go-" + name
			check(t, client.MakeBucket(ctx, bucket, minio.MakeBucketOptions{Region: region}))
			check(t, client.EnableVersioning(ctx, bucket))

			objects := map[string][]byte{"empty": {}, "a b/ü+%": content(t, 300_000), "parts": content(t, 11<<20)}
			for key, body := range objects {
				// A size of -1 uploads in parts whose number is not known before.
				for _, size := range []int64{int64(len(body)), -1} {
					options := minio.PutObjectOptions{UserMetadata: map[string]string{"Who": "zoe"}, PartSize: 5 << 20}
					if trailing {
						options.Checksum = minio.ChecksumCRC32C
					}
					_, err := client.PutObject(ctx, bucket, key, bytes.NewReader(body), size, options)
					check(t, err)
					object, err := client.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
					check(t, err)
					read, err := io.ReadAll(object)
					check(t, err)
					info, err := object.Stat()
					check(t, err)
					if !bytes.Equal(read, body) || info.UserMetadata["Who"] != "zoe" {
						t.Fatalf("%s of %d bytes is not what was put: %v", key, len(body), info)
					}
				}
			}
			source := minio.CopySrcOptions{Bucket: bucket, Object: "parts", Start: 1, End: 6 << 20, MatchRange: true}
			rest := minio.CopySrcOptions{Bucket: bucket, Object: "a b/ü+%"}
			composed, err := client.ComposeObject(ctx, minio.CopyDestOptions{Bucket: bucket, Object: "composed"}, source, rest)
			check(t, err)
			if composed.Size != 0 && composed.Size != 6<<20+300_000 {
				t.Fatalf("composed of %d bytes", composed.Size)
			}

			check(t, client.RemoveObject(ctx, bucket, "empty", minio.RemoveObjectOptions{}))
			versions := make(chan minio.ObjectInfo, 100)
			var areMarkers []bool
			for object := range client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Recursive: true, WithVersions: true}) {
				check(t, object.Err)
				// The client passes on the order of the answer, in which the marker is ahead of what it hides.
				if object.Key == "empty" {
					areMarkers = append(areMarkers, object.IsDeleteMarker)
				}
				versions <- object
			}
			close(versions)
			if len(versions) != 8 || !slices.Equal(areMarkers, []bool{true, false, false}) {
				t.Fatalf("%d versions are listed, delete markers of one: %v", len(versions), areMarkers)
			}
			for refused := range client.RemoveObjects(ctx, bucket, versions, minio.RemoveObjectsOptions{}) {
				t.Fatal(refused)
			}
			check(t, client.RemoveBucket(ctx, bucket))
		})
	}
}

func TestSDK(t *testing.T) {
	ctx := context.Background()
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String(endpoint),
		Region:       region,
		UsePathStyle: true,
		Credentials:  credentials.NewStaticCredentialsProvider(keyID, secret, ""),
	})
	bucket := aws.String("sdk-go")
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket})
	check(t, err)
	body := content(t, 6<<20)
	put, err := client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: bucket, Key: aws.String("ü/a b"), Body: bytes.NewReader(body), IfNoneMatch: aws.String("*"),
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	check(t, err)
	_, err = client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: bucket, Key: aws.String("ü/a b"), Body: strings.NewReader("x"), IfNoneMatch: aws.String("*"),
	})
	var refusal interface{ ErrorCode() string }
	if !errors.As(err, &refusal) || refusal.ErrorCode() != "PreconditionFailed" {
		t.Fatalf("the second put: %v", err)
	}

	upload, err := client.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: bucket, Key: aws.String("parts")})
	check(t, err)
	var parts []types.CompletedPart
	for number, piece := range [][]byte{body, []byte("the end")} {
		part, err := client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: bucket, Key: aws.String("parts"), UploadId: upload.UploadId,
			PartNumber: aws.Int32(int32(number + 1)), Body: bytes.NewReader(piece),
		})
		check(t, err)
		parts = append(parts, types.CompletedPart{ETag: part.ETag, PartNumber: aws.Int32(int32(number + 1)), ChecksumCRC32: part.ChecksumCRC32})
	}
	_, err = client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: bucket, Key: aws.String("parts"), UploadId: upload.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	check(t, err)
	for key, expected := range map[string][]byte{"ü/a b": body, "parts": append(bytes.Clone(body), "the end"...)} {
		got, err := client.GetObject(ctx, &s3.GetObjectInput{
			Bucket: bucket, Key: aws.String(key), ChecksumMode: types.ChecksumModeEnabled,
		})
		check(t, err)
		read, err := io.ReadAll(got.Body)
		check(t, err)
		if !bytes.Equal(read, expected) {
			t.Fatalf("%s is not what was put", key)
		}
	}
	list := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: bucket, MaxKeys: aws.Int32(1)})
	pages := 0
	for ; list.HasMorePages(); pages++ {
		page, err := list.NextPage(ctx)
		check(t, err)
		for _, object := range page.Contents {
			_, err := client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: bucket, Key: object.Key, IfMatch: object.ETag})
			check(t, err)
		}
	}
	if pages != 2 || put.ETag == nil {
		t.Fatalf("%d pages, ETag %v", pages, put.ETag)
	}
	_, err = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: bucket})
	check(t, err)
}

// The acceptance test that each provider of Thanos' object stores must pass.
func TestThanosAcceptance(t *testing.T) {
	ctx := context.Background()
	client, err := minio.New(host(t), &minio.Options{Creds: miniocredentials.NewStaticV4(keyID, secret, ""), Region: region})
	check(t, err)
	check(t, client.MakeBucket(ctx, "thanos", minio.MakeBucketOptions{Region: region}))
	configuration := objstores3.DefaultConfig
	configuration.Bucket = "thanos"
	configuration.Endpoint = host(t)
	configuration.Region = region
	configuration.AccessKey = keyID
	configuration.SecretKey = secret
	configuration.Insecure = true
	bucket, err := objstores3.NewBucketWithConfig(log.NewNopLogger(), configuration, "quartet", nil)
	check(t, err)
	objstore.AcceptanceTest(t, bucket)
}
