module bench_peers

go 1.21

require (
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
)
