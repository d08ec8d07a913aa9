package polyglot

// The type Token is the one of docs/how-to/grpc.md; token.go is written from that page.

import (
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	bus "quartet.test/polyglot/stubs/quartet/eventbus/v1"
)

// tokenFor makes a credential from AWS_ACCESS_KEY_ID and its like, as any program of the SDK does.
func tokenFor(t *testing.T, audience string) *Token {
	t.Helper()
	loaded, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &Token{STS: sts.NewFromConfig(loaded), Audience: []string{audience}}
}

// listBuses calls the event bus with the credential of the page; the address is that of its own port or the gateway's.
func listBuses(t *testing.T, address string, token *Token) error {
	t.Helper()
	connection, err := grpc.NewClient(os.Getenv(address),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithPerRPCCredentials(token))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_, err = bus.NewEventBusServiceClient(connection).ListEventBuses(t.Context(), &bus.ListEventBusesRequest{})
	return err
}

func TestATokenOfTheSdkIsShownAndRenewed(t *testing.T) {
	for _, address := range []string{"QUARTET_EVENT_BUS_ADDRESS", "QUARTET_GATEWAY_ADDRESS"} {
		token := tokenFor(t, "event-bus")
		if err := listBuses(t, address, token); err != nil {
			t.Fatal(err)
		}
		first := token.value
		if err := listBuses(t, address, token); err != nil || token.value != first {
			t.Fatalf("another token, or %v", err)
		}
		token.renewAt = time.Now()
		if err := listBuses(t, address, token); err != nil || token.value == first {
			t.Fatalf("the same token, or %v", err)
		}
	}
}

func TestATokenForAnotherServiceIsRefused(t *testing.T) {
	err := listBuses(t, "QUARTET_EVENT_BUS_ADDRESS", tokenFor(t, "object-storage"))
	expectRefusal(t, err, codes.Unauthenticated, "UNAUTHENTICATED", "event-bus.quartet")
}
