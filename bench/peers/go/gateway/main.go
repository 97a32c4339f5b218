// gateway PORT: the REST routes of helloworld.Greeter on grpc-gateway, which calls a grpc-go server in this process over
// loopback, so that the CPU time of the process is that of both.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"bench_peers/generated/helloworld"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type greets struct {
	helloworld.UnimplementedGreeterServer
}

func (greets) SayHello(_ context.Context, request *helloworld.HelloRequest) (*helloworld.HelloReply, error) {
	return &helloworld.HelloReply{Message: request.GetName()}, nil
}

func listen(port string) net.Listener {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: gateway PORT")
	}
	behind := listen("0")
	server := grpc.NewServer()
	helloworld.RegisterGreeterServer(server, greets{})
	go func() { log.Fatal(server.Serve(behind)) }()

	mux := runtime.NewServeMux()
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	if err := helloworld.RegisterGreeterHandlerFromEndpoint(context.Background(), mux, behind.Addr().String(), options); err != nil {
		log.Fatal(err)
	}
	front := listen(os.Args[1])
	fmt.Println("listening on", front.Addr())
	log.Fatal(http.Serve(front, mux))
}
