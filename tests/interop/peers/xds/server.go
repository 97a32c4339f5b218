package main

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/xds"
)

// A server of any method, which a control plane configures.
func serve(address string) {
	listener, err := net.Listen("tcp4", address)
	check(err)
	port := listener.Addr().(*net.TCPAddr).Port
	answer := func(_ any, stream grpc.ServerStream) error {
		fields, _ := metadata.FromIncomingContext(stream.Context())
		var request []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		if late := fields.Get("late"); len(late) > 0 {
			milliseconds, _ := strconv.Atoi(late[0])
			time.Sleep(time.Duration(milliseconds) * time.Millisecond)
		}
		reply := []byte(strconv.Itoa(port))
		if len(fields.Get("silent")) > 0 {
			reply = nil
		}
		return stream.SendMsg(&reply)
	}
	security, err := xdscredentials.NewServerCredentials(xdscredentials.ServerOptions{FallbackCreds: insecure.NewCredentials()})
	check(err)
	services, err := xds.NewGRPCServer(grpc.Creds(security), grpc.UnknownServiceHandler(answer), grpc.ForceServerCodec(codec))
	check(err)
	fmt.Println("listening on", listener.Addr())
	check(services.Serve(listener))
}
