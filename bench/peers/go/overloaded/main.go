// overloaded PORT WORKERS MILLISECONDS LIMIT: what bench_overloaded serves, on grpc-go, with at most LIMIT calls at a time, or 0 for all.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"bench_peers/generated/helloworld"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type greets struct {
	helloworld.UnimplementedGreeterServer
	workers chan struct{}
	time    time.Duration
}

func (g *greets) SayHello(call context.Context, request *helloworld.HelloRequest) (*helloworld.HelloReply, error) {
	select {
	case g.workers <- struct{}{}:
	case <-call.Done():
		return nil, status.FromContextError(call.Err()).Err()
	}
	defer func() { <-g.workers }()
	select {
	case <-time.After(g.time):
	case <-call.Done():
		return nil, status.FromContextError(call.Err()).Err()
	}
	return &helloworld.HelloReply{Message: request.GetName()}, nil
}

// What a server with a limit by hand does: calls above it are rejected at once.
func limited(limit int64) grpc.UnaryServerInterceptor {
	var running atomic.Int64
	return func(call context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		defer running.Add(-1)
		if running.Add(1) > limit {
			return nil, status.Error(codes.Unavailable, "overloaded")
		}
		return handle(call, request)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	if len(os.Args) != 5 {
		log.Fatal("usage: overloaded PORT WORKERS MILLISECONDS LIMIT")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var options []grpc.ServerOption
	if limit := number(os.Args[4]); limit != 0 {
		options = append(options, grpc.UnaryInterceptor(limited(int64(limit))))
	}
	server := grpc.NewServer(options...)
	helloworld.RegisterGreeterServer(server, &greets{
		workers: make(chan struct{}, number(os.Args[2])),
		time:    time.Duration(number(os.Args[3])) * time.Millisecond,
	})
	fmt.Println("listening on", listener.Addr())
	log.Fatal(server.Serve(listener))
}
