// testsvc PORT: test.TestService on grpc-go, the one server that the clients of all libraries are measured against.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"

	"bench_peers/generated/testsvc"
	"google.golang.org/grpc"
)

func countTo(last uint64) []uint64 {
	numbers := make([]uint64, last)
	for i := range numbers {
		numbers[i] = uint64(i) + 1
	}
	return numbers
}

type tests struct {
	testsvc.UnimplementedTestServiceServer
}

func (tests) TestRPC(_ context.Context, request *testsvc.TestRequest) (*testsvc.TestResponse, error) {
	return &testsvc.TestResponse{Data: countTo(request.GetTestResponseSz())}, nil
}

func (tests) TestServerStreamRPC(request *testsvc.TestRequest, replies grpc.ServerStreamingServer[testsvc.TestResponse]) error {
	all := countTo(request.GetTestResponseSz())
	for i := range all {
		if err := replies.Send(&testsvc.TestResponse{Data: all[:i+1]}); err != nil {
			return err
		}
	}
	return nil
}

func (tests) TestClientStreamRPC(requests grpc.ClientStreamingServer[testsvc.TestRequest, testsvc.TestResponse]) error {
	var wanted uint64
	for {
		request, err := requests.Recv()
		if err == io.EOF {
			return requests.SendAndClose(&testsvc.TestResponse{Data: countTo(wanted)})
		}
		if err != nil {
			return err
		}
		wanted += request.GetTestResponseSz()
	}
}

func (tests) TestBidirectionalStreamRPC(both grpc.BidiStreamingServer[testsvc.TestRequest, testsvc.TestResponse]) error {
	for {
		request, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := both.Send(&testsvc.TestResponse{Data: countTo(request.GetTestResponseSz())}); err != nil {
			return err
		}
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: testsvc PORT")
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	// The clients have up to 1,000 calls on their way; grpc-go's own limit is none.
	server := grpc.NewServer()
	testsvc.RegisterTestServiceServer(server, tests{})
	fmt.Println("listening on", listener.Addr())
	log.Fatal(server.Serve(listener))
}
