// connect PORT: helloworld.Greeter on connect-go, over HTTP/1.1 and HTTP/2 without TLS.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"bench_peers/generated/helloworld"
	"bench_peers/generated/helloworld/helloworldconnect"
	"connectrpc.com/connect"
)

type greets struct{}

func (greets) SayHello(_ context.Context, request *connect.Request[helloworld.HelloRequest]) (*connect.Response[helloworld.HelloReply], error) {
	return connect.NewResponse(&helloworld.HelloReply{Message: request.Msg.GetName()}), nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: connect PORT")
	}
	mux := http.NewServeMux()
	mux.Handle(helloworldconnect.NewGreeterHandler(greets{}))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening on", listener.Addr())
	log.Fatal((&http.Server{Handler: mux, Protocols: protocols}).Serve(listener))
}
