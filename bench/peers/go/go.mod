module bench_peers

go 1.21
