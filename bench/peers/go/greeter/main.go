// greeter PORT [CERT KEY]: what bench_greeter serves, on grpc-go.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"bench_peers/generated/helloworld"
	"bench_peers/generated/idle"
	"bench_peers/generated/orders"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

type greets struct {
	helloworld.UnimplementedGreeterServer
}

func (greets) SayHello(_ context.Context, request *helloworld.HelloRequest) (*helloworld.HelloReply, error) {
	return &helloworld.HelloReply{Message: request.GetName()}, nil
}

type echoes struct {
	orders.UnimplementedOrdersServer
}

func (echoes) Echo(_ context.Context, order *orders.Order) (*orders.Order, error) {
	return order, nil
}

type holds struct {
	idle.UnimplementedIdleServer
}

func (holds) Hold(stream grpc.BidiStreamingServer[idle.Msg, idle.Msg]) error {
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("usage: greeter PORT [CERT KEY]")
	}
	var options []grpc.ServerOption
	if len(os.Args) == 4 {
		own, err := credentials.NewServerTLSFromFile(os.Args[2], os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(own))
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(options...)
	helloworld.RegisterGreeterServer(server, greets{})
	orders.RegisterOrdersServer(server, echoes{})
	idle.RegisterIdleServer(server, holds{})
	fmt.Println("listening on", listener.Addr())
	log.Fatal(server.Serve(listener))
}
