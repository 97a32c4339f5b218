// go-control-plane as a control plane, and grpc-go as its client and server, for tests/interop/xds*_test.py.
//
//	xds plane PORT ADS  Snapshots from lines of JSON; what clients request, and the load that they report, as
//	                    lines of JSON. If ADS is "true", requests that do not name all resources of their
//	                    type get no response. Nodes whose id begins with "envoy" get the Listeners whose name
//	                    does, and others the rest; Clusters whose name begins with "envoy" or "grpc" are for
//	                    these nodes alone.
//	xds client          Does what tests/interop/xds_peer.cpp says.
//	xds server ADDRESS  The same for its role xds_server.
//	xds authorized ADDRESS POLICY CERTIFICATE KEY CA
//	                    The same for its role authorized.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	clusters "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listeners "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	load_stats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	xdscredentials "google.golang.org/grpc/credentials/xds"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	_ "google.golang.org/grpc/xds"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// --- The control plane

const envoy = "envoy"

// All clients get one of two snapshots: Envoy requests all Listeners, and has to understand them.
type byKind struct{}

func (byKind) ID(node *core.Node) string {
	if strings.HasPrefix(node.GetId(), envoy) {
		return envoy
	}
	return "grpc"
}

type request struct {
	Node    string   `json:"node"`
	Type    string   `json:"type"`
	Names   []string `json:"names"`
	Version string   `json:"version"`
	Error   string   `json:"error"`
}

// What comes on standard input: the resources of a snapshot by the URL of their type, serialized, and their versions. "{}" is the answer.
type update struct {
	Versions  map[string]string   `json:"versions"`
	Resources map[string][][]byte `json:"resources"`
}

func isFor(message proto.Message, kind string) bool {
	switch one := message.(type) {
	case *listeners.Listener:
		return strings.HasPrefix(one.Name, envoy) == (kind == envoy)
	case *clusters.Cluster:
		return strings.HasPrefix(one.Name, kind) || !strings.HasPrefix(one.Name, envoy) && !strings.HasPrefix(one.Name, "grpc")
	}
	return true
}

func snapshotOf(u update, kind string) *cache.Snapshot {
	byType := map[string][]types.Resource{}
	for url, all := range u.Resources {
		byType[url] = []types.Resource{}
		for _, one := range all {
			message, err := (&anypb.Any{TypeUrl: url, Value: one}).UnmarshalNew()
			check(err)
			// The definitions of Envoy know every field that the tests set.
			if unknown := message.ProtoReflect().GetUnknown(); len(unknown) > 0 {
				check(fmt.Errorf("%s has unknown fields: %x", url, unknown))
			}
			if !isFor(message, kind) {
				continue
			}
			byType[url] = append(byType[url], message.(proto.Message))
		}
	}
	snapshot, err := cache.NewSnapshot("", byType)
	check(err)
	for url, version := range u.Versions {
		snapshot.Resources[cache.GetResponseType(url)].Version = version
	}
	return snapshot
}

func plane(port string, ads bool) {
	snapshots := cache.NewSnapshotCache(ads, byKind{}, nil)
	var lock sync.Mutex
	nodes := map[int64]string{}
	callbacks := server.CallbackFuncs{
		StreamRequestFunc: func(stream int64, r *discovery.DiscoveryRequest) error {
			lock.Lock()
			defer lock.Unlock()
			if r.GetNode().GetId() != "" {
				nodes[stream] = r.GetNode().GetId()
			}
			text, err := json.Marshal(request{nodes[stream], r.TypeUrl, r.ResourceNames, r.VersionInfo,
				r.GetErrorDetail().GetMessage()})
			check(err)
			fmt.Println(string(text))
			return nil
		},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	check(err)
	services := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(services, server.NewServer(context.Background(), snapshots, callbacks))
	load_stats.RegisterLoadReportingServiceServer(services, loads{})
	fmt.Println("listening on", listener.Addr())
	go func() { check(services.Serve(listener)) }()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var u update
		check(json.Unmarshal(lines.Bytes(), &u))
		for _, kind := range []string{envoy, "grpc"} {
			check(snapshots.SetSnapshot(context.Background(), kind, snapshotOf(u, kind)))
		}
		fmt.Println("{}")
	}
}

// How often clients report; grpcio's does not do it more often.
const loadInterval = time.Second

// What a client has counted of a cluster since its last report: calls by the zone of their locality, and drops by category.
type load struct {
	Node       string              `json:"node"`
	Cluster    string              `json:"cluster"`
	Zones      map[string]zoneLoad `json:"zones"`
	Categories map[string]uint64   `json:"categories"`
	Dropped    uint64              `json:"dropped"`
}

type zoneLoad struct {
	Successful uint64 `json:"successful"`
	Errors     uint64 `json:"errors"`
	Issued     uint64 `json:"issued"`
}

type loads struct {
	load_stats.UnimplementedLoadReportingServiceServer
}

func (loads) StreamLoadStats(stream load_stats.LoadReportingService_StreamLoadStatsServer) error {
	node := ""
	for {
		report, err := stream.Recv()
		if err != nil {
			return err
		}
		if node == "" {
			node = report.GetNode().GetId()
			wanted := load_stats.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(loadInterval)}
			if err := stream.Send(&wanted); err != nil {
				return err
			}
		}
		for _, of := range report.ClusterStats {
			said := load{node, of.ClusterName, map[string]zoneLoad{}, map[string]uint64{}, of.TotalDroppedRequests}
			for _, l := range of.UpstreamLocalityStats {
				said.Zones[l.Locality.GetZone()] = zoneLoad{l.TotalSuccessfulRequests, l.TotalErrorRequests, l.TotalIssuedRequests}
			}
			for _, d := range of.DroppedRequests {
				said.Categories[d.Category] = d.DroppedCount
			}
			text, err := json.Marshal(said)
			check(err)
			fmt.Println(string(text))
		}
	}
}

// --- The client

// Messages are bytes. Without a name it does not change the content-type.
type bytesCodec struct{}

func (bytesCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (bytesCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (bytesCodec) Name() string { return "" }

var codec encoding.Codec = bytesCodec{}

var names = strings.Fields("OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED " +
	"RESOURCE_EXHAUSTED FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED")

// The word that has calls begin at the same time, before its "=".
const together = ":together"

func call(connection *grpc.ClientConn, path string, fields []string) string {
	about, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	step, shown := 0, ""
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case ":timed":
			step, _ = strconv.Atoi(value)
		case ":shown":
			shown = value
		case together:
		default:
			about = metadata.AppendToOutgoingContext(about, name, value)
		}
	}
	var nothing, reply []byte
	var header metadata.MD
	begin := time.Now()
	err := connection.Invoke(about, path, &nothing, &reply, grpc.ForceCodec(codec), grpc.Header(&header))
	taken := int(time.Since(begin).Milliseconds())
	answer := string(reply)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		answer = names[status.Code(err)]
	}
	if step > 0 {
		answer += fmt.Sprintf("/%d", taken/step*step)
	}
	if shown != "" {
		answer += "/" + strings.ReplaceAll(strings.Join(header.Get(shown), ","), " ", "")
	}
	return answer
}

func open(target string) *grpc.ClientConn {
	security, err := xdscredentials.NewClientCredentials(xdscredentials.ClientOptions{FallbackCreds: insecure.NewCredentials()})
	check(err)
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(security))
	check(err)
	return connection
}

func client() {
	lines := make(chan string)
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
		close(lines)
	}()
	var connection *grpc.ClientConn
	target := ""
	next, ok := <-lines
	for ok {
		words := strings.Fields(next)
		count, err := strconv.Atoi(words[0])
		check(err)
		if words[1] != target {
			if connection != nil {
				connection.Close()
			}
			target = words[1]
			connection = open(target)
		}
		answers := map[string]int{}
		more := true
		if slices.Contains(words, together+"=1") {
			more = false
			each := make(chan string)
			for range count {
				go func() { each <- call(connection, words[2], words[3:]) }()
			}
			for range count {
				answers[<-each]++
			}
		}
		for i := 0; more && (count == 0 || i < count); i++ {
			answers[call(connection, words[2], words[3:])]++
			if count == 0 {
				select {
				case next, ok = <-lines:
					more = false
				default:
				}
			}
		}
		var texts []string
		for answer, times := range answers {
			texts = append(texts, fmt.Sprintf("%s=%d", answer, times))
		}
		sort.Strings(texts)
		fmt.Println(strings.Join(texts, " "))
		if count != 0 {
			next, ok = <-lines
		}
	}
}

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "plane":
		plane(os.Args[2], os.Args[3] == "true")
	case len(os.Args) == 2 && os.Args[1] == "client":
		client()
	case len(os.Args) == 3 && os.Args[1] == "server":
		serve(os.Args[2])
	case len(os.Args) == 7 && os.Args[1] == "authorized":
		serveByPolicy(os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6])
	default:
		check(fmt.Errorf("usage: xds plane PORT ADS, xds client, xds server ADDRESS, xds authorized ADDRESS POLICY CERTIFICATE KEY CA"))
	}
}
