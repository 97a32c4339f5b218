// observed PORT plain|metrics|traces: the Greeter on grpc-go, alone, or with its plugin for OpenTelemetry: metrics for a Prometheus
// exporter; or these and traces, of which 1 % are recorded.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"bench_peers/generated/helloworld"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/stats/opentelemetry"
)

type greets struct {
	helloworld.UnimplementedGreeterServer
}

func (greets) SayHello(_ context.Context, request *helloworld.HelloRequest) (*helloworld.HelloReply, error) {
	return &helloworld.HelloReply{Message: request.GetName()}, nil
}

// discards takes the spans in batches, as an exporter does that sends them, and forgets them.
type discards struct{}

func (discards) ExportSpans(context.Context, []trace.ReadOnlySpan) error { return nil }
func (discards) Shutdown(context.Context) error                          { return nil }

func options(what string) ([]grpc.ServerOption, error) {
	if what == "plain" {
		return nil, nil
	}
	exporter, err := prometheus.New()
	if err != nil {
		return nil, err
	}
	observed := opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: metric.NewMeterProvider(metric.WithReader(exporter))},
	}
	if what == "traces" {
		observed.TraceOptions = experimental.TraceOptions{
			TracerProvider: trace.NewTracerProvider(trace.WithBatcher(discards{}),
				trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(0.01)))),
			TextMapPropagator: propagation.TraceContext{},
		}
	}
	return []grpc.ServerOption{opentelemetry.ServerOption(observed)}, nil
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: observed PORT plain|metrics|traces")
	}
	chosen, err := options(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(chosen...)
	helloworld.RegisterGreeterServer(server, greets{})
	fmt.Println("listening on", listener.Addr())
	log.Fatal(server.Serve(listener))
}
