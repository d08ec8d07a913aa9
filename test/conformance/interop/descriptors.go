// Writes the descriptors of the gRPC interop service to stdout, from the module of its client.
package main

import (
	"os"

	_ "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	set := &descriptorpb.FileDescriptorSet{}
	for _, path := range []string{"grpc/testing/empty.proto", "grpc/testing/messages.proto", "grpc/testing/test.proto"} {
		file, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			panic(err)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file.(protoreflect.FileDescriptor)))
	}
	bytes, err := proto.Marshal(set)
	if err != nil {
		panic(err)
	}
	if _, err := os.Stdout.Write(bytes); err != nil {
		panic(err)
	}
}
