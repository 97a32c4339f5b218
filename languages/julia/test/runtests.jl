# Tests of Coracle.jl against the echo server of test/server.py, whose ports are in ECHO_PORT and SECURE_ECHO_PORT.
using Test

import Coracle
include("echo.jl")

port = parse(Int, ENV["ECHO_PORT"])
channel = Coracle.Channel("127.0.0.1", port)
method(name; options...) = Coracle.Client(channel, "/languages.test.Echo/$name", Text, Text; options...)
say, never, fail = method("Say"), method("Never"), method("Fail")
collect_texts, repeat_text, chat = method("Collect"), method("Repeat"), method("Chat")

function error_of(f)
    try
        f()
    catch e
        return e
    end
    nothing
end
status_of(f) = (e = error_of(f); e isa Coracle.CallError ? Coracle.status_name(e) : e)

@testset "a unary call" begin
    @test Coracle.request(say, Text("hello", 3)) == Text("hello", 3)
    @test Coracle.request(say, Text("")) == Text("")
    raw = Coracle.Client(channel, "/languages.test.Echo/Say")
    @test Coracle.request(raw, Coracle.encode(Text("raw", 7))) == Coracle.encode(Text("raw", 7))
end
@testset "a thousand in flight" begin
    calls = [Coracle.async_request(say, Text("", i)) for i in 1:1000]
    @test [Int(Coracle.await(c).count) for c in calls] == 1:1000
end
@testset "results in a channel" begin
    results = Base.Channel{Coracle.Result{Text}}(10)
    for i in 1:100
        Coracle.async_request(say, Text("", i), results, i)
    end
    Coracle.async_request(fail, Text(""), results, 0)
    seen = [take!(results) for _ in 1:101]
    @test sort([r.index for r in seen]) == 0:100
    @test all(r -> r.index == 0 ? r.error isa Coracle.CallError : r.reply.count == r.index, seen)
end
@testset "errors and metadata" begin
    e = error_of(() -> Coracle.request(fail, Text("")))
    @test e isa Coracle.CallError && Coracle.status_name(e) == "NOT_FOUND" && e.message == "no such name"
    @test ("reason-bin" => UInt8[1, 2]) in e.trailing_metadata
    @test sprint(showerror, e) == "NOT_FOUND: no such name"
    named = method("Say"; metadata = Dict("name" => "default", "other" => "x"))
    call = Coracle.async_request(named, Text("x"); metadata = Dict("name" => "ada"))
    Coracle.await(call)
    @test ("seen" => "ada") in Coracle.initial_metadata(call)
    @test ("raw-bin" => UInt8[0, 255]) in Coracle.trailing_metadata(call)
    @test status_of(() -> Coracle.request(say, Text("x"); token = "t", metadata = Dict("authorization" => "x"))) == "INVALID_ARGUMENT"
    @test status_of(() -> Coracle.request(Coracle.Client(channel, "/a.B/C"), UInt8[])) == "UNIMPLEMENTED"
end
@testset "deadlines" begin
    @test status_of(() -> Coracle.request(never, Text(""); deadline = 0.05)) == "DEADLINE_EXCEEDED"
    @test status_of(() -> Coracle.request(never, Text(""); deadline = 0)) == "DEADLINE_EXCEEDED"
    nowhere = Coracle.Client(Coracle.Channel("127.0.0.1", 1), "/a.B/C"; wait_for_ready = true)
    @test status_of(() -> Coracle.request(nowhere, UInt8[]; deadline = 0.05)) == "DEADLINE_EXCEEDED"
    @test status_of(() -> Coracle.request(nowhere, UInt8[]; wait_for_ready = false)) == "UNAVAILABLE"
    @test Coracle.request(say, Text("x"); deadline = Inf) == Text("x")
end
@testset "calls of several threads" begin
    replies = fill(Text(""), 1000)
    Threads.@threads for i in 1:1000
        replies[i] = Coracle.request(say, Text("x", i); deadline = 60)
    end
    @test [Int(t.count) for t in replies] == 1:1000
end
@testset "limits" begin
    @test status_of(() -> Coracle.request(say, Text("x"^1000); max_send_bytes = 100)) == "RESOURCE_EXHAUSTED"
    @test status_of(() -> Coracle.request(say, Text("x"^1000); max_receive_bytes = 100)) == "RESOURCE_EXHAUSTED"
end
@testset "cancel" begin
    call = Coracle.async_request(never, Text(""); deadline = Inf)
    Coracle.cancel(call)
    @test status_of(() -> Coracle.await(call)) == "CANCELLED"
    replies = Base.Channel{Text}(1)
    endless = Coracle.stream(repeat_text, [Text("x", 1_000_000)], replies; deadline = Inf)
    @test take!(replies).count == 0
    Coracle.cancel(endless)
    for _ in replies end
    @test status_of(() -> Coracle.await(endless)) == "CANCELLED"
end
@testset "streams" begin
    replies = Base.Channel{Text}(8)
    call = Coracle.stream(repeat_text, [Text("a", 500)], replies)
    @test [Int(t.count) for t in replies] == 0:499
    @test Coracle.await(call) === nothing
    @test Coracle.request_stream(collect_texts, (Text("x") for _ in 1:500)).count == 500
    requests, replies = Base.Channel{Text}(8), Base.Channel{Text}(8)
    call = Coracle.stream(chat, requests, replies)
    for i in 1:3
        put!(requests, Text("", i))
        @test take!(replies).count == i
    end
    close(requests)
    @test isempty(collect(replies))
    @test Coracle.await(call) === nothing
    replies = Base.Channel{Text}(8)
    call = Coracle.stream(repeat_text, [Text("fail", 2)], replies)
    @test length(collect(replies)) == 2
    @test status_of(() -> Coracle.await(call)) == "ABORTED"
    call = Coracle.stream(chat, (i == 2 ? error("mine") : Text("") for i in 1:3), Base.Channel{Text}(8))
    @test error_of(() -> Coracle.await(call)) isa ErrorException
end
@testset "messages of no bytes" begin
    raw = Coracle.Client(channel, "/languages.test.Echo/Chat"; deadline = 60)
    replies = Base.Channel{Vector{UInt8}}(8)
    call = Coracle.stream(raw, (UInt8[] for _ in 1:200), replies)
    @test collect(replies) == fill(UInt8[], 200)
    @test Coracle.await(call) === nothing
    texts = [Text(i % 3 == 0 ? "x" : "") for i in 1:200]
    replies = Base.Channel{Text}(8)
    call = Coracle.stream(chat, texts, replies; deadline = 60)
    @test collect(replies) == texts
    @test Coracle.await(call) === nothing
    @test Coracle.request_stream(collect_texts, (Text("") for _ in 1:200)) == Text("", 200)
    @test Coracle.request_stream(collect_texts, Text[]) == Text("", 0)
    replies = Base.Channel{Text}(8)
    call = Coracle.stream(repeat_text, [Text("", 0)], replies)
    @test isempty(collect(replies))
    @test Coracle.await(call) === nothing
end
@testset "large requests" begin
    io = IOBuffer()
    write(io, 0x7a) # a field that the server does not know, so that its reply is small
    put_varint(io, UInt64(1_600_000))
    write(io, zeros(UInt8, 1_600_000))
    large = take!(io)
    gather = Coracle.Client(channel, "/languages.test.Echo/Collect", Vector{UInt8}, Text; deadline = 60)
    @test Coracle.request_stream(gather, (large for _ in 1:100)).count == 100
    @test status_of(() -> Coracle.request_stream(gather, [large]; max_send_bytes = 1_000_000)) == "RESOURCE_EXHAUSTED"
    sent = Threads.Atomic{Int}(0)
    unread = Coracle.Client(channel, "/languages.test.Echo/Unread"; deadline = Inf)
    call = Coracle.stream(unread, (Threads.atomic_add!(sent, 1) >= 0 ? large : large for _ in 1:1000), Base.Channel{Vector{UInt8}}(1))
    before = -1
    while before != sent[]
        before = sent[]
        sleep(0.5)
    end
    @test 0 < before < 100 # the server does not read, which holds the requests back
    Coracle.cancel(call)
    @test status_of(() -> Coracle.await(call)) == "CANCELLED"
end
@testset "replies that are not wanted" begin
    replies = Base.Channel{Text}(1)
    call = Coracle.stream(repeat_text, [Text("x", 1_000_000)], replies; deadline = Inf)
    @test take!(replies).count == 0
    close(replies)
    @test status_of(() -> Coracle.await(call)) == "CANCELLED"
    replies = Base.Channel{Text}(8)
    call = Coracle.stream(repeat_text, [Text("x"^1000, 3)], replies; max_receive_bytes = 100)
    @test isempty(collect(replies))
    @test status_of(() -> Coracle.await(call)) == "RESOURCE_EXHAUSTED"
end
include("waiting.jl")
@testset "TLS and tokens" begin
    folder = ENV["ECHO_CERTIFICATES"]
    secure = Coracle.Channel("localhost", parse(Int, ENV["SECURE_ECHO_PORT"]); secure = true, ca_file = joinpath(folder, "ca.pem"),
                             certificate_file = joinpath(folder, "client.pem"), key_file = joinpath(folder, "client.key"))
    with_token(token) = Coracle.Client(secure, "/languages.test.Echo/Say", Text, Text; token = token)
    @test Coracle.request(with_token(nothing), Text("x")) == Text("x")
    # The server accepts the token "secret" alone.
    good, bad = with_token("secret"), with_token("other")
    @test Coracle.request(good, Text("x")) == Text("x")
    @test status_of(() -> Coracle.request(bad, Text("x"))) == "UNAUTHENTICATED"
    @test status_of(() -> Coracle.request(good, Text("x"); token = "other")) == "UNAUTHENTICATED"
    @test Coracle.request(bad, Text("x"); token = "secret") == Text("x")
    @test Coracle.request(bad, Text("x"); token = nothing, metadata = Dict("authorization" => "Bearer secret")) == Text("x")
    @test_throws Coracle.UsageError Coracle.request(good, Text("x"); metadata = Dict("Authorization" => "Bearer x"))
    @test status_of(() -> Coracle.request(say, Text("x"); token = "secret")) == "UNAUTHENTICATED" # in plaintext a token is not sent
end
@testset "misuse" begin
    @test_throws ArgumentError method("Say"; colour = "red")
    @test_throws ArgumentError Coracle.request(say, Text("x"); deadline = NaN)
    @test_throws Coracle.UsageError Coracle.Channel("127.0.0.1", port; more = ("colour" => "red",))
    @test_throws Coracle.UsageError Coracle.request(say, Text("x"); metadata = Dict("grpc-timeout" => "1S"))
    @test_throws Coracle.UsageError Coracle.request(say, Text("x"); compression = "none")
end
@testset "no leak of waiters" begin
    GC.gc()
    @test length(Coracle.completions[].waiters) <= 2
end

@testset "the guide" begin
    host = "127.0.0.1"
    # --8<-- [start:unary]
    channel = Coracle.Channel(host, port; keepalive = 30)
    say = Coracle.Client(channel, "/languages.test.Echo/Say", Text, Text; deadline = 5)

    reply = Coracle.request(say, Text("hello"))
    calls = [Coracle.async_request(say, Text("hello", i)) for i in 1:1000]
    replies = map(Coracle.await, calls)
    # --8<-- [end:unary]
    @test reply == Text("hello") && last(replies).count == 1000
    # --8<-- [start:streams]
    chat = Coracle.Client(channel, "/languages.test.Echo/Chat", Text, Text; deadline = Inf)
    requests, replies = Base.Channel{Text}(8), Base.Channel{Text}(8)
    call = Coracle.stream(chat, requests, replies)
    put!(requests, Text("one"))
    println(take!(replies).text)
    close(requests)
    Coracle.await(call)
    # --8<-- [end:streams]
    # --8<-- [start:error]
    try
        Coracle.request(say, Text("hello"); deadline = 0)
    catch e
        e isa Coracle.CallError || rethrow()
        println(Coracle.status_name(e), " ", e.message)
    end
    # --8<-- [end:error]
end
