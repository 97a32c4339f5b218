# workloads.jl PORT [SECONDS]: the five workloads of gRPCClient.jl against a server of test.TestService, such as bench_testsvc, as a
# table. CPU is what this process uses, the library's thread included.
import Coracle
using Printf

port = parse(Int, ARGS[1])
seconds = length(ARGS) > 1 ? parse(Float64, ARGS[2]) : 3.0

# TestRequest: uint64 test_response_sz = 1; repeated uint64 data = 2. Replies are counted, not decoded, as bytes.
function varint(io, value)
    while value >= 0x80
        write(io, UInt8(value & 0x7f | 0x80))
        value >>= 7
    end
    write(io, UInt8(value))
end
function test_request(size, numbers)
    io = IOBuffer()
    write(io, 0x08)
    varint(io, UInt64(size))
    if numbers > 0
        write(io, 0x12)
        varint(io, UInt64(numbers))
        write(io, zeros(UInt8, numbers))
    end
    take!(io)
end

const channel = Coracle.Channel("127.0.0.1", port)
method(name) = Coracle.Client(channel, "/test.TestService/$name"; deadline = Inf)
const unary, requests, replies, both = method("TestRPC"), method("TestClientStreamRPC"), method("TestServerStreamRPC"),
                                       method("TestBidirectionalStreamRPC")
const small, large = test_request(1, 0), test_request(1, 32 * 224 * 224 ÷ 8)

function in_flight(message, count)
    calls = [Coracle.async_request(unary, message) for _ in 1:count]
    foreach(Coracle.await, calls)
    count
end
smol() = in_flight(small, 1000)
tensors() = in_flight(large, 100)
function streaming_request()
    Coracle.request_stream(requests, Iterators.repeated(small, 1000))
    1000
end
function streaming_response()
    got = Base.Channel{Vector{UInt8}}(64)
    call = Coracle.stream(replies, [test_request(1000, 0)], got)
    count = 0
    for _ in got
        count += 1
    end
    Coracle.await(call)
    count
end
function streaming_both()
    got = Base.Channel{Vector{UInt8}}(64)
    call = Coracle.stream(both, Iterators.repeated(small, 1000), got)
    count = 0
    for _ in got
        count += 1
    end
    Coracle.await(call)
    count
end

cpu_seconds() = (t = Vector{Clong}(undef, 18); ccall(:getrusage, Cint, (Cint, Ptr{Clong}), 0, t); t[1] + t[3] + (t[2] + t[4]) / 1e6)

function row(name, workload)
    workload()
    messages, times = 0, Float64[]
    cpu, before, started = cpu_seconds(), Base.gc_num(), time()
    while time() - started < seconds
        took = @elapsed count = workload()
        messages += count
        push!(times, took / count * 1e6)
    end
    elapsed, cpu, used = time() - started, cpu_seconds() - cpu, Base.GC_Diff(Base.gc_num(), before)
    average = sum(times) / length(times)
    deviation = sqrt(sum(abs2, times .- average) / length(times))
    @printf("%-24s %10.0f %8.2f %9.2f %8.2f %9.1f %8.1f %8.1f %8.1f\n", name, messages / elapsed, cpu / messages * 1e6,
            used.allocd / messages / 1024, Base.gc_alloc_count(used) / messages, average, deviation, minimum(times), maximum(times))
end

@printf("%-24s %10s %8s %9s %8s %9s %8s %8s %8s\n", "workload", "messages/s", "CPU us", "KiB/msg", "allocs", "avg us", "std", "min", "max")
for (name, workload) in ("smol" => smol, "32x224x224 uint8" => tensors, "streaming request" => streaming_request,
                         "streaming response" => streaming_response, "streaming bidirectional" => streaming_both)
    row(name, workload)
end
