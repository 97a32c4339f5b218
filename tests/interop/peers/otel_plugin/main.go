// otel_plugin: grpc-go's plugin for OpenTelemetry as a server or a client of grpc.testing.TestService, for
// plugin_comparison_test.py. What it has measured is printed as JSON, one instrument a line.
//
//	otel_plugin server            prints its address, and serves until SIGTERM
//	otel_plugin client ADDRESS    makes the calls
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

type service struct {
	pb.UnimplementedTestServiceServer
}

// A request with a status gets that; one with the code 4 is answered when its client has gone.
func (service) UnaryCall(ctx context.Context, request *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if wanted := request.GetResponseStatus(); wanted.GetCode() == int32(codes.DeadlineExceeded) {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	} else if wanted.GetCode() != 0 {
		return nil, status.Error(codes.Code(wanted.GetCode()), wanted.GetMessage())
	}
	return &pb.SimpleResponse{Payload: &pb.Payload{Body: make([]byte, request.GetResponseSize())}}, nil
}

func (service) StreamingOutputCall(request *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for _, one := range request.GetResponseParameters() {
		reply := &pb.StreamingOutputCallResponse{Payload: &pb.Payload{Body: make([]byte, one.GetSize())}}
		if err := stream.Send(reply); err != nil {
			return err
		}
	}
	return nil
}

type point struct {
	Labels map[string]string `json:"labels"`
	Count  uint64            `json:"count"`
	Sum    float64           `json:"sum"`
	Counts []uint64          `json:"counts,omitempty"`
}

type instrument struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Kind   string    `json:"kind"`
	Bounds []float64 `json:"bounds,omitempty"`
	Points []point   `json:"points"`
}

func labelsOf(set attribute.Set) map[string]string {
	labels := map[string]string{}
	for _, one := range set.ToSlice() {
		labels[string(one.Key)] = one.Value.AsString()
	}
	return labels
}

func histogramOf[N int64 | float64](of metricdata.Metrics, data metricdata.Histogram[N]) instrument {
	made := instrument{Name: of.Name, Unit: of.Unit, Kind: "histogram"}
	for _, one := range data.DataPoints {
		made.Bounds = one.Bounds
		made.Points = append(made.Points, point{labelsOf(one.Attributes), one.Count, float64(one.Sum), one.BucketCounts})
	}
	return made
}

func printAll(reader *metric.ManualReader) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		log.Fatal(err)
	}
	to := json.NewEncoder(os.Stdout)
	for _, scope := range all.ScopeMetrics {
		for _, one := range scope.Metrics {
			var made instrument
			switch data := one.Data.(type) {
			case metricdata.Sum[int64]:
				made = instrument{Name: one.Name, Unit: one.Unit, Kind: "counter"}
				for _, value := range data.DataPoints {
					made.Points = append(made.Points, point{Labels: labelsOf(value.Attributes), Count: uint64(value.Value)})
				}
			case metricdata.Histogram[int64]:
				made = histogramOf(one, data)
			case metricdata.Histogram[float64]:
				made = histogramOf(one, data)
			default:
				log.Fatalf("%s is of a kind that no instrument of gRPC has: %T", one.Name, one.Data)
			}
			to.Encode(made)
		}
	}
}

func makeCalls(address string, options opentelemetry.Options) {
	channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), opentelemetry.DialOption(options))
	if err != nil {
		log.Fatal(err)
	}
	defer channel.Close()
	client := pb.NewTestServiceClient(channel)
	call := func(timeout time.Duration, request *pb.SimpleRequest) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		client.UnaryCall(ctx, request)
	}
	for range 3 {
		call(time.Minute, &pb.SimpleRequest{ResponseSize: 5000, Payload: &pb.Payload{Body: make([]byte, 100)}})
	}
	for _, code := range []codes.Code{codes.NotFound, codes.NotFound, codes.Unavailable} {
		call(time.Minute, &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: int32(code), Message: "as asked for"}})
	}
	call(200*time.Millisecond, &pb.SimpleRequest{ResponseStatus: &pb.EchoStatus{Code: int32(codes.DeadlineExceeded)}})
	stream, err := client.StreamingOutputCall(context.Background(), &pb.StreamingOutputCallRequest{
		ResponseParameters: []*pb.ResponseParameters{{Size: 10}, {Size: 2000}, {Size: 100_000}}})
	for err == nil {
		_, err = stream.Recv()
	}
	client.EmptyCall(context.Background(), &pb.Empty{})
}

func main() {
	reader := metric.NewManualReader()
	options := opentelemetry.Options{MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}}
	if len(os.Args) == 3 && os.Args[1] == "client" {
		makeCalls(os.Args[2], options)
		printAll(reader)
		return
	}
	if len(os.Args) != 2 || os.Args[1] != "server" {
		log.Fatal("usage: otel_plugin server | client ADDRESS")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(opentelemetry.ServerOption(options))
	pb.RegisterTestServiceServer(server, service{})
	fmt.Printf("listening on %s\n", listener.Addr())
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	go func() {
		<-ending
		server.GracefulStop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
	printAll(reader)
}
