# Calls that wait: for a stream of a connection that has one at a time, and for a connection that is never ready.
using Sockets

const ended_soon = 10 # seconds: far below the deadlines that the other calls have

narrow() = Coracle.Channel("127.0.0.1", parse(Int, ENV["NARROW_ECHO_PORT"]))
echo(channel, name; options...) = Coracle.Client(channel, "/languages.test.Echo/$name", Text, Text; deadline = 600, options...)

"Calls f with a channel whose one stream is in use, and with the call that uses it."
function with_used_stream(f)
    channel = narrow()
    Coracle.request(echo(channel, "Say"), Text("x")) # the server has told how many streams it accepts
    using_it = Coracle.async_request(echo(channel, "Never"), Text(""))
    try
        f(channel, using_it)
    finally
        close(channel)
    end
end

"Calls f with a channel to a server that accepts connections and says nothing."
function with_silent_server(f)
    server = listen(ip"127.0.0.1", 0)
    accepted = TCPSocket[]
    @async try
        while true
            push!(accepted, accept(server))
        end
    catch # the server is closed
    end
    channel = Coracle.Channel("127.0.0.1", Int(getsockname(server)[2]))
    try
        f(channel)
    finally
        close(channel)
        close(server)
        foreach(close, accepted)
    end
end

function test_deadlines_and_cancellation(channel)
    waiting = Coracle.async_request(echo(channel, "Say"), Text("x"))
    begun = time()
    @test status_of(() -> Coracle.request(echo(channel, "Say"), Text("x"); deadline = 0.3)) == "DEADLINE_EXCEEDED"
    streaming = Coracle.stream(echo(channel, "Chat"), [Text("x")], Base.Channel{Text}(1); deadline = 0.3)
    @test status_of(() -> Coracle.await(streaming)) == "DEADLINE_EXCEEDED"
    @test 0.5 < time() - begun < ended_soon
    @test waiting.outcome === nothing
    Coracle.cancel(waiting)
    @test status_of(() -> Coracle.await(waiting)) == "CANCELLED"
end

function test_close(channel, others = ())
    calls = [Coracle.async_request(echo(channel, "Say"), Text("x")) for _ in 1:100]
    streaming = Coracle.stream(echo(channel, "Chat"), [Text("x")], Base.Channel{Text}(1))
    begun = time()
    close(channel)
    @test all(c -> status_of(() -> Coracle.await(c)) == "UNAVAILABLE", [calls..., streaming, others...])
    @test time() - begun < ended_soon
    @test status_of(() -> Coracle.request(echo(channel, "Say"), Text("x"))) == "UNAVAILABLE"
end

@testset "calls that wait for a stream" begin
    with_used_stream() do channel, using_it
        test_deadlines_and_cancellation(channel)
        waiting = Coracle.async_request(echo(channel, "Say"), Text("next"))
        @test using_it.outcome === nothing
        Coracle.cancel(using_it)
        @test Coracle.await(waiting) == Text("next")
    end
    with_used_stream((channel, using_it) -> test_close(channel, (using_it,)))
end
@testset "calls that wait for a connection" begin
    with_silent_server(test_deadlines_and_cancellation)
    with_silent_server(test_close)
end
@testset "a program ends while calls wait" begin
    program = """
        import Coracle
        channel = Coracle.Channel("127.0.0.1", parse(Int, ARGS[1]))
        client = Coracle.Client(channel, "/languages.test.Echo/Never"; deadline = Inf)
        calls = [Coracle.async_request(client, UInt8[]) for _ in 1:100]
        Coracle.stream(client, [UInt8[]], Base.Channel{Vector{UInt8}}(1))
        yield()
        print("begun")
        """
    for port in (ENV["ECHO_PORT"], ENV["NARROW_ECHO_PORT"])
        command = `timeout 120 $(Base.julia_cmd()) --project=$(Base.active_project()) -e $program $port`
        @test read(command, String) == "begun" # read() throws if the program failed or had to be ended
    end
end
