// What etcd's own package for Go makes of our names in etcd, and what we make of its names.
//
//	etcd_naming register ETCD NAME ADDRESS   a server under that name, with a weight and a lease, until the input ends
//	etcd_naming call ETCD NAME COUNT         the replies to as many calls of /echo.Echo/Say, one a line
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/naming/endpoints"
	"go.etcd.io/etcd/client/v3/naming/resolver"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func register(etcd *clientv3.Client, name, address string) {
	limited, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	lease, err := etcd.Grant(limited, 60)
	check(err)
	manager, err := endpoints.NewManager(etcd, name)
	check(err)
	server := endpoints.Endpoint{Addr: address, Metadata: map[string]any{"weight": 3, "zone": "a"}}
	check(manager.AddEndpoint(limited, name+"/from-go", server, clientv3.WithLease(lease.ID)))
	fmt.Println("registered")
	_, err = io.Copy(io.Discard, os.Stdin)
	check(err)
	leaving, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	check(manager.DeleteEndpoint(leaving, name+"/from-go"))
}

func call(etcd *clientv3.Client, name string, count int) {
	builder, err := resolver.NewBuilder(etcd)
	check(err)
	connection, err := grpc.NewClient("etcd:///"+name, grpc.WithResolvers(builder),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig": [{"round_robin": {}}]}`))
	check(err)
	limited, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for range count {
		// On the wire, a StringValue is an echo.Text.
		var reply wrapperspb.StringValue
		check(connection.Invoke(limited, "/echo.Echo/Say", wrapperspb.String(""), &reply, grpc.WaitForReady(true)))
		fmt.Println(reply.Value)
	}
}

func main() {
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[2]}, DialTimeout: 10 * time.Second})
	check(err)
	if os.Args[1] == "register" {
		register(etcd, os.Args[3], os.Args[4])
		return
	}
	count, err := strconv.Atoi(os.Args[4])
	check(err)
	call(etcd, os.Args[3], count)
}
