package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/authz"
	"google.golang.org/grpc/credentials"
)

// A server of any method that follows the file of an authorization policy. Its clients may have certificates.
func serveByPolicy(address, policy, certificate, key, ca string) {
	listener, err := net.Listen("tcp4", address)
	check(err)
	own, err := tls.LoadX509KeyPair(certificate, key)
	check(err)
	authority, err := os.ReadFile(ca)
	check(err)
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority)
	security := credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{own}, ClientCAs: clients, ClientAuth: tls.VerifyClientCertIfGiven})
	interceptor, err := authz.NewFileWatcher(policy, 100*time.Millisecond)
	check(err)
	answer := func(_ any, stream grpc.ServerStream) error {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		return stream.SendMsg(&message)
	}
	services := grpc.NewServer(grpc.Creds(security), grpc.UnknownServiceHandler(answer), grpc.ForceServerCodec(codec),
		grpc.StreamInterceptor(interceptor.StreamInterceptor))
	fmt.Println("listening on", listener.Addr())
	check(services.Serve(listener))
}
