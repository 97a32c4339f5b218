"""
gRPC clients on Coracle's C++ runtime.

    channel = Coracle.Channel("localhost", 50051)
    say = Coracle.Client(channel, "/echo.Echo/Say", Text, Text; deadline = 5)
    reply = Coracle.request(say, Text("hello"))

Messages are `Vector{UInt8}`, or of any type with methods of `Coracle.encode` and `Coracle.decode`.
"""
module Coracle

import Libdl

include("library.jl")

# ---- messages

"encode(message)::Vector{UInt8}: add a method for each type of request."
encode(message::Vector{UInt8}) = message
"decode(T, bytes::Vector{UInt8})::T: add a method for each type of reply."
decode(::Type{Vector{UInt8}}, bytes::Vector{UInt8}) = bytes

# ---- errors

const status_names = ("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
                      "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
                      "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED")

"A call that did not end with OK: `status` is gRPC's number, `details` the bytes of a google.rpc.Status."
struct CallError <: Exception
    status::Int
    message::String
    details::Vector{UInt8}
    trailing_metadata::Vector{Pair{String,Any}}
end
"The name of the status of a CallError, such as \"NOT_FOUND\"."
status_name(e::CallError) = status_names[e.status + 1]
Base.showerror(io::IO, e::CallError) = print(io, status_name(e), ": ", e.message)

# ---- how a call ends

struct Outcome
    status::Int
    message::Union{Nothing,Vector{UInt8}}
    text::String
    details::Vector{UInt8}
    initial::Vector{Pair{String,Any}}
    trailing::Vector{Pair{String,Any}}
end
const no_bytes = UInt8[]
const no_pairs = Pair{String,Any}[]
function Outcome(e::Event_)
    Outcome(e.status, e.has_message != 0 ? bytes_at(e.message, e.message_size) : nothing,
            text_at(e.text, e.text_size), e.details_size == 0 ? no_bytes : bytes_at(e.details, e.details_size),
            e.initial_count == 0 ? no_pairs : pairs_at(e.initial, e.initial_count),
            e.trailing_count == 0 ? no_pairs : pairs_at(e.trailing, e.trailing_count))
end
error_of(o::Outcome) = CallError(o.status, o.text, o.details, o.trailing)

# ---- completions: the library wakes an AsyncCondition, and one task takes what has completed, in batches

abstract type Waiter end

mutable struct Completions
    queue::UInt64
    woken::Base.AsyncCondition
    waiters::Dict{UInt64,Waiter}
    next_tag::UInt64
    events::Vector{Event_}
end
const completions = Ref{Completions}()
const starting = ReentrantLock()

function started()
    isassigned(completions) && return completions[]
    lock(starting) do
        isassigned(completions) && return
        woken = Base.AsyncCondition()
        options = QueueOptions_(sizeof(QueueOptions_), 0, cglobal(:uv_async_send), woken.handle)
        queue = Ref{UInt64}(0)
        check(ccall(symbol(:coracle_queue_create), Cint, (UInt64, Ref{QueueOptions_}, Ref{UInt64}), 0, options, queue))
        completions[] = Completions(queue[], woken, Dict{UInt64,Waiter}(), 0, Vector{Event_}(undef, 128))
        schedule(Task(() -> dispatch(completions[])))
    end
    completions[]
end

function take(c::Completions)
    count = Ref{Csize_t}(0)
    check(ccall(symbol(:coracle_queue_take), Cint, (UInt64, Ptr{Event_}, Csize_t, Csize_t, Ref{Csize_t}),
                c.queue, c.events, sizeof(Event_), length(c.events), count))
    Int(count[])
end

# Under the lock, which the wake needs, too: it cannot come between the look and the wait.
function take_or_wait(c::Completions)
    lock(c.woken.cond) do
        count = take(c)
        count == 0 && wait(c.woken.cond)
        count
    end
end

function pass_on(c::Completions, e::Event_)
    waiter = lock(() -> get(c.waiters, e.tag, nothing), starting)
    waiter === nothing || on_event(waiter, e.kind, Outcome(e))
    nothing
end

function dispatch(c::Completions)
    while isopen(c.woken)
        count = take_or_wait(c)
        foreach(i -> pass_on(c, c.events[i]), 1:count)
        ccall(symbol(:coracle_events_release), Cvoid, (Ptr{Event_}, Csize_t, Csize_t), c.events, sizeof(Event_), count)
    end
end

function add(c::Completions, w::Waiter)
    lock(starting) do
        c.next_tag += 1
        c.waiters[c.next_tag] = w
        c.next_tag
    end
end
remove(c::Completions, tag) = lock(() -> delete!(c.waiters, tag), starting)

# ---- channels

option_text(value::Bool) = value ? "true" : "false"
option_text(value) = string(value)
seconds_text(value) = isinf(value) ? "infinite" : string(round(Int, value * 1_000_000), "us")

"""
    Channel(host, port; secure = false, keepalive = Inf, ca_file, certificate_file, key_file, options...)

Connects to a server, which calls share. With `secure` over TLS, and with the system's authorities unless `ca_file` names others; a
certificate with its key is for servers that ask for one. `keepalive` is the time in seconds after which a silent server is asked
whether it is there. `options` are those of coracle::channel_options by their names, with `_` for `.` in `("keepalive.timeout" => "5s")`
pairs of `more`.
"""
mutable struct Channel
    handle::UInt64
    function Channel(host::AbstractString, port::Integer; secure::Bool = false, keepalive::Real = Inf, ca_file = nothing,
                     certificate_file = nothing, key_file = nothing, target_name = nothing, more = ())
        named = Pair{String,String}["credentials" => secure ? "tls" : "insecure"]
        for (name, value) in ("tls.ca_file" => ca_file, "tls.certificate_file" => certificate_file, "tls.key_file" => key_file,
                              "tls.target_name" => target_name)
            value === nothing || push!(named, name => value)
        end
        isinf(keepalive) || push!(named, "keepalive.time" => seconds_text(keepalive))
        for (name, value) in more
            push!(named, string(name) => option_text(value))
        end
        handle = Ref{UInt64}(0)
        texts = [(p.first, p.second) for p in named]
        GC.@preserve texts begin
            list = [Option_(pointer(name), pointer(value)) for (name, value) in texts]
            check(ccall(symbol(:coracle_channel_create), Cint, (UInt64, Cstring, Ptr{Option_}, Csize_t, Ref{UInt64}),
                        0, string(host, ":", port), list, length(list), handle))
        end
        finalizer(c -> ccall(symbol(:coracle_channel_destroy), Cint, (UInt64,), c.handle), new(handle[]))
    end
end

"Ends the calls of a channel with UNAVAILABLE."
Base.close(c::Channel) = check(ccall(symbol(:coracle_channel_close), Cint, (UInt64,), c.handle))

# ---- clients

"""
    Client(channel, path, Request, Reply; deadline = 10, metadata = Dict(), token = nothing, max_send_bytes, max_receive_bytes,
           wait_for_ready = false, compression = nothing)

One method of a service. The options are those of every call, which `request()` and the others take, too: those of a call have
precedence, and metadata is merged by key. `deadline` is in seconds and covers queueing; `Inf` is none, and 0 has passed.
"""
struct Client{Request,Reply}
    channel::Channel
    path::String
    options::NamedTuple
end
const defaults = (deadline = 10.0, metadata = Dict{String,Any}(), token = nothing, max_send_bytes = 4 << 20,
                  max_receive_bytes = 4 << 20, wait_for_ready = false, compression = nothing)
function Client(channel::Channel, path::AbstractString, ::Type{Request} = Vector{UInt8}, ::Type{Reply} = Vector{UInt8};
                options...) where {Request,Reply}
    Client{Request,Reply}(channel, path, merged(defaults, options))
end
function merged(ours::NamedTuple, theirs)
    for name in keys(theirs)
        haskey(defaults, name) || throw(ArgumentError("there is no option $name; there are $(join(keys(defaults), ", "))"))
    end
    all = merge(ours, (; theirs...))
    haskey(theirs, :metadata) || return all
    merge(all, (metadata = merge(ours.metadata, Dict{String,Any}(theirs[:metadata])),))
end

as_bytes(value::AbstractString) = Vector{UInt8}(codeunits(value))
as_bytes(value::Vector{UInt8}) = value

# Calls f with the options as the library takes them.
function with_options(f, options::NamedTuple)
    flat = [(as_bytes(key), as_bytes(value)) for (key, values) in options.metadata for value in (values isa Vector{<:AbstractString} ? values : [values])]
    deadline = options.deadline
    isnan(deadline) && throw(ArgumentError("the deadline is NaN: it is a number of seconds, or Inf for none"))
    timeout = isinf(deadline) ? typemax(Int64) : deadline > 0 ? max(1, round(Int64, deadline * 1e9)) : Int64(-1)
    token, compression = options.token, options.compression
    if token !== nothing && any(p -> p[1] == b"authorization", flat)
        throw(CallError(3, "a call has a token and metadata with the key authorization: leave one out", no_bytes, no_pairs))
    end
    text(value) = value === nothing ? Ptr{UInt8}(C_NULL) : pointer(value)
    GC.@preserve flat token compression begin
        list = [Pair_(pointer(key), length(key), pointer(value), length(value)) for (key, value) in flat]
        GC.@preserve list begin
            f(CallOptions_(sizeof(CallOptions_), options.wait_for_ready ? WAIT_FOR_READY : 0, timeout,
                           isempty(list) ? C_NULL : pointer(list), length(list), options.max_receive_bytes, options.max_send_bytes,
                           text(token), text(compression), C_NULL))
        end
    end
end

# ---- unary calls

"A call in progress: `await()` it, or `cancel()` it."
mutable struct Call{Reply} <: Waiter
    handle::UInt64
    tag::UInt64
    outcome::Union{Nothing,Outcome}
    ended::Base.Event
    results::Union{Nothing,Base.Channel}
    index::Int
    Call{Reply}(results, index) where {Reply} = new{Reply}(0, 0, nothing, Base.Event(), results, index)
end

function on_event(c::Call, kind::UInt32, o::Outcome)
    remove(completions[], c.tag)
    c.outcome = o
    notify(c.ended)
    c.results === nothing || put_result(c, c.results)
    nothing
end

function result_of(c::Call{Reply}) where {Reply}
    try
        Result{Reply}(c.index, reply_of(c), nothing)
    catch e
        Result{Reply}(c.index, nothing, e)
    end
end
function put_result(c::Call, results::Base.Channel)
    result = result_of(c)
    # The other calls must not wait for a channel that is full.
    if Base.n_avail(results) < results.sz_max
        put!(results, result)
    else
        schedule(Task(() -> put!(results, result)))
    end
end

release(handle) = ccall(symbol(:coracle_call_release), Cint, (UInt64,), handle)

"What arrives in a channel of results: the index of the call, and its reply, or its error and no reply."
struct Result{Reply}
    index::Int
    reply::Union{Nothing,Reply}
    error::Union{Nothing,Exception}
end

function reply_of(c::Call{Reply}) where {Reply}
    c.outcome.message === nothing && throw(error_of(c.outcome))
    decode(Reply, c.outcome.message)
end

"""
    call = async_request(client, message; options...)
    async_request(client, message, results::Base.Channel{Coracle.Result{Reply}}, index; options...)

Starts a unary call and returns at once. Throws UsageError if it cannot start. Its reply is the result of `await(call)`, or a
`Result` in a channel, for programs that gather many.
"""
function async_request(client::Client{Request,Reply}, message::Request, results = nothing, index::Integer = 0;
                       options...) where {Request,Reply}
    c = started()
    call = Call{Reply}(results, index)
    bytes = encode(message)
    call.tag = add(c, call)
    handle = Ref{UInt64}(0)
    try
        with_options(isempty(options) ? client.options : merged(client.options, options)) do given
            check(ccall(symbol(:coracle_unary), Cint,
                        (UInt64, Cstring, Ptr{UInt8}, Csize_t, Ref{CallOptions_}, Ref{Completion_}, Ref{UInt64}),
                        client.channel.handle, client.path, bytes, length(bytes), given, Completion_(c.queue, call.tag), handle))
        end
    catch
        remove(c, call.tag)
        rethrow()
    end
    call.handle = handle[]
    finalizer(ended -> release(ended.handle), call)
end

"Waits for the end of a call, without blocking other tasks, and returns its reply. Throws CallError."
function await(call::Call)
    wait(call.ended)
    reply_of(call)
end

"Makes a unary call and waits for its reply: await(async_request(...))."
request(client::Client, message; options...) = await(async_request(client, message; options...))

"Ends a call with CANCELLED, unless it has ended."
cancel(call::Waiter) = check(ccall(symbol(:coracle_call_cancel), Cint, (UInt64,), call.handle))

"What the server sent with the status of a call that has ended, and what it sent before its replies."
trailing_metadata(call::Waiter) = call.outcome.trailing
initial_metadata(call::Waiter) = call.outcome.initial

# ---- streams

const write_batch = 100         # messages that are written without waiting for flow control,
const write_batch_bytes = 65536 # or bytes
const read_ahead = 64

"A call with streams in progress."
mutable struct Stream{Reply} <: Waiter
    handle::UInt64
    tag::UInt64
    outcome::Union{Nothing,Outcome}
    changed::Threads.Condition
    unread::Vector{Vector{UInt8}}
    asked::Int
    written::Bool                      # the write that the pump waits for
    error::Union{Nothing,Exception}    # of the pump, or of decode()
    Stream{Reply}() where {Reply} = new{Reply}(0, 0, nothing, Threads.Condition(), Vector{UInt8}[], 0, false, nothing)
end

function on_event(s::Stream, kind::UInt32, o::Outcome)
    lock(s.changed) do
        if kind == WRITE
            s.written = true
        elseif o.message === nothing
            s.outcome === nothing && (s.outcome = o)
            s.asked = 0
        else
            push!(s.unread, o.message)
            s.asked -= 1
        end
        notify(s.changed)
    end
end

function write_message(s::Stream, bytes::Vector{UInt8}, flags, waits::Bool)
    c = completions[]
    waits || return check(ccall(symbol(:coracle_write), Cint, (UInt64, Ptr{UInt8}, Csize_t, UInt32, Ptr{Completion_}),
                                s.handle, bytes, length(bytes), flags, C_NULL))
    lock(s.changed) do
        s.written = false
        check(ccall(symbol(:coracle_write), Cint, (UInt64, Ptr{UInt8}, Csize_t, UInt32, Ref{Completion_}),
                    s.handle, bytes, length(bytes), flags, Completion_(c.queue, s.tag)))
        while !s.written
            wait(s.changed)
        end
    end
end

function pump(s::Stream, requests)
    try
        count, size = 0, 0
        for request in requests
            s.outcome === nothing || return
            bytes = encode(request)
            count, size = count + 1, size + length(bytes)
            full = count >= write_batch || size >= write_batch_bytes
            full && ((count, size) = (0, 0))
            write_message(s, bytes, 0, full)
        end
        check(ccall(symbol(:coracle_writes_done), Cint, (UInt64,), s.handle))
    catch e
        e isa UsageError && s.outcome !== nothing && return
        s.error = e
        cancel(s)
    end
end

function next_batch(s::Stream)
    lock(s.changed) do
        while isempty(s.unread) && s.outcome === nothing
            if s.asked <= read_ahead ÷ 2
                wanted = read_ahead - s.asked
                s.asked = read_ahead
                check(ccall(symbol(:coracle_read), Cint, (UInt64, UInt32, Ref{Completion_}),
                            s.handle, wanted, Completion_(completions[].queue, s.tag)))
            end
            wait(s.changed)
        end
        taken, s.unread = s.unread, Vector{UInt8}[]
        taken
    end
end

function deliver(s::Stream{Reply}, replies::Base.Channel) where {Reply}
    try
        while true
            batch = next_batch(s)
            isempty(batch) && break
            for bytes in batch
                put!(replies, decode(Reply, bytes))
            end
        end
    catch e
        # A channel is closed when its reader does not want the rest: the call is cancelled, and that is no error of the program.
        isopen(replies) && s.error === nothing && (s.error = e)
        cancel(s)
        while !isempty(next_batch(s)) end
    finally
        close(replies)
    end
end

function begin_stream(client::Client{Request,Reply}, options) where {Request,Reply}
    c = started()
    s = Stream{Reply}()
    s.tag = add(c, s)
    handle = Ref{UInt64}(0)
    try
        with_options(isempty(options) ? client.options : merged(client.options, options)) do given
            check(ccall(symbol(:coracle_stream), Cint, (UInt64, Cstring, Ref{CallOptions_}, Ref{UInt64}),
                        client.channel.handle, client.path, given, handle))
        end
    catch
        remove(c, s.tag)
        rethrow()
    end
    s.handle = handle[]
    s
end
function end_stream(s::Stream)
    release(s.handle)
    remove(completions[], s.tag)
end

"""
    stream(client, requests, replies::Base.Channel; options...)

Starts a call with streams: a task sends what `requests` (a channel or another iterable) gives, and each reply is put into `replies`,
which is closed at the end; closing it earlier cancels the call. `await(call)` then returns nothing, or throws CallError. A single request may be given as `[request]`.
"""
function stream(client::Client{Request,Reply}, requests, replies::Base.Channel; options...) where {Request,Reply}
    s = begin_stream(client, options)
    @async pump(s, requests)
    @async deliver(s, replies)
    s
end

function await(s::Stream)
    lock(s.changed) do
        while s.outcome === nothing
            wait(s.changed)
        end
    end
    end_stream(s)
    s.error === nothing || throw(s.error)
    s.outcome.status == 0 || throw(error_of(s.outcome))
    nothing
end

"Sends the requests of a channel or another iterable, and returns the one reply. Throws CallError."
function request_stream(client::Client{Request,Reply}, requests; options...) where {Request,Reply}
    replies = Base.Channel{Reply}(2)
    call = stream(client, requests, replies; options...)
    all = collect(replies)
    await(call)
    length(all) == 1 || throw(CallError(13, "$(length(all)) replies came, where one belongs", no_bytes, no_pairs))
    all[1]
end

function __init__()
    name = get(ENV, "CORACLE_LIBRARY", "libcoracle_c.so.1")
    load(name)
    version = ccall(symbol(:coracle_abi_version), UInt32, ())
    version == ABI_VERSION || error("$name has the interface $version, and Coracle.jl needs $ABI_VERSION")
    atexit(() -> ccall(symbol(:coracle_shutdown), Cint, ()))
end

end
