// Package polyglot calls the services with stubs that the stock Go generators make. It runs against a system that is
// up already: QUARTET_TOKEN and QUARTET_<SERVICE>_ADDRESS say how to reach it.
package polyglot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	profiles "quartet.test/polyglot/stubs/quartet/customerprofile/v1"
	bus "quartet.test/polyglot/stubs/quartet/eventbus/v1"
	storage "quartet.test/polyglot/stubs/quartet/objectstorage/v1"
	workspaces "quartet.test/polyglot/stubs/quartet/refactoringworkspace/v1"
)

func connect(t *testing.T, service string) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient(os.Getenv("QUARTET_"+service+"_ADDRESS"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	return connection
}

func caller(t *testing.T) context.Context {
	t.Helper()
	limited, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(limited, "authorization", "Bearer "+os.Getenv("QUARTET_TOKEN"))
}

func unique() string { return fmt.Sprintf("go-%d", time.Now().UnixNano()) }

// expectRefusal fails unless the error is a declared refusal of this code, reason and domain.
func expectRefusal(t *testing.T, err error, code codes.Code, reason, domain string) {
	t.Helper()
	refusal := status.Convert(err)
	if refusal.Code() != code {
		t.Fatalf("code is %v, not %v: %v", refusal.Code(), code, err)
	}
	for _, detail := range refusal.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			if info.Reason != reason || info.Domain != domain {
				t.Fatalf("reason is %s of %s, not %s of %s", info.Reason, info.Domain, reason, domain)
			}
			return
		}
	}
	t.Fatalf("no ErrorInfo in %v", refusal.Details())
}

func TestAProfileIsFoundByItsKey(t *testing.T) {
	client, ctx, domain := profiles.NewCustomerProfileServiceClient(connect(t, "CUSTOMER_PROFILE")), caller(t), unique()
	if _, err := client.CreateDomain(ctx, &profiles.CreateDomainRequest{DomainName: domain, DefaultExpirationDays: proto.Int32(30)}); err != nil {
		t.Fatal(err)
	}
	made, err := client.CreateProfile(ctx, &profiles.CreateProfileRequest{DomainName: domain, AccountNumber: proto.String("4711")})
	if err != nil {
		t.Fatal(err)
	}
	found, err := client.SearchProfiles(ctx, &profiles.SearchProfilesRequest{DomainName: domain, KeyName: "_account", Values: []string{"4711"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Items) != 1 || found.Items[0].ProfileId != made.ProfileId {
		t.Fatalf("found %v, not %s", found.Items, made.ProfileId)
	}
}

func TestADomainThatIsNotThereIsRefused(t *testing.T) {
	client := profiles.NewCustomerProfileServiceClient(connect(t, "CUSTOMER_PROFILE"))
	_, err := client.GetDomain(caller(t), &profiles.GetDomainRequest{DomainName: "nowhere"})
	expectRefusal(t, err, codes.NotFound, "DOMAIN_NOT_FOUND", "customer-profile.quartet")
}

func TestACallerWithoutTokenIsRefused(t *testing.T) {
	client := bus.NewEventBusServiceClient(connect(t, "EVENT_BUS"))
	_, err := client.ListEventBuses(context.Background(), &bus.ListEventBusesRequest{})
	expectRefusal(t, err, codes.Unauthenticated, "UNAUTHENTICATED", "event-bus.quartet")
}

func TestAnEventIsPublished(t *testing.T) {
	client := bus.NewEventBusServiceClient(connect(t, "EVENT_BUS"))
	entry := &bus.PutEventsRequestEntry{Source: proto.String("shop"), DetailType: proto.String("order"), Detail: proto.String("{}")}
	answer, err := client.PutEvents(caller(t), &bus.PutEventsRequest{Entries: []*bus.PutEventsRequestEntry{entry}})
	if err != nil {
		t.Fatal(err)
	}
	if answer.GetFailedEntryCount() != 0 || len(answer.Entries) != 1 {
		t.Fatalf("answer is %v", answer)
	}
}

func TestAnEnvironmentIsReadBack(t *testing.T) {
	client, ctx, name := workspaces.NewRefactoringWorkspaceServiceClient(connect(t, "REFACTORING_WORKSPACE")), caller(t), unique()
	made, err := client.CreateEnvironment(ctx, &workspaces.CreateEnvironmentRequest{
		Name: name, NetworkFabricType: workspaces.NetworkFabricType_NETWORK_FABRIC_TYPE_NONE.Enum(),
	})
	if err != nil {
		t.Fatal(err)
	}
	read, err := client.GetEnvironment(ctx, &workspaces.GetEnvironmentRequest{EnvironmentIdentifier: made.EnvironmentId})
	if err != nil {
		t.Fatal(err)
	}
	if read.Name != name {
		t.Fatalf("name is %s, not %s", read.Name, name)
	}
}

func TestAnObjectIsStreamedUpAndDown(t *testing.T) {
	client, ctx, bucket := storage.NewObjectStorageServiceClient(connect(t, "OBJECT_STORAGE")), caller(t), unique()
	if _, err := client.CreateBucket(ctx, &storage.CreateBucketRequest{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	up, err := client.PutObject(ctx)
	if err != nil {
		t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte("quartet "), 128*1024)
	if err := up.Send(&storage.PutObjectRequest{Bucket: bucket, Key: "large"}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := up.Send(&storage.PutObjectRequest{Body: chunk}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := up.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	down, err := client.GetObject(ctx, &storage.GetObjectRequest{Bucket: bucket, Key: "large"})
	if err != nil {
		t.Fatal(err)
	}
	var body bytes.Buffer
	for {
		message, err := down.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		body.Write(message.Body)
	}
	if !bytes.Equal(body.Bytes(), bytes.Repeat(chunk, 20)) {
		t.Fatalf("%d bytes came back that are not what was sent", body.Len())
	}
}
