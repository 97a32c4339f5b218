# The C interface: the structs of coracle.h, and its functions. No function that is called here waits, because a call that blocks
# would keep Julia's collector from running; none calls back into Julia, whose threads are the only ones that may run it.

struct Pair_
    key::Ptr{UInt8}
    key_size::Csize_t
    value::Ptr{UInt8}
    value_size::Csize_t
end

struct Option_
    name::Ptr{UInt8}
    value::Ptr{UInt8}
end

struct Event_
    size::UInt32
    kind::UInt32
    tag::UInt64
    call::UInt64
    status::Int32
    has_message::Int32
    message::Ptr{UInt8}
    message_size::Csize_t
    text::Ptr{UInt8}
    text_size::Csize_t
    details::Ptr{UInt8}
    details_size::Csize_t
    initial::Ptr{Pair_}
    initial_count::Csize_t
    trailing::Ptr{Pair_}
    trailing_count::Csize_t
    method::Ptr{UInt8}
    method_size::Csize_t
    peer::Ptr{UInt8}
    peer_size::Csize_t
    timeout_ns::Int64
    owner::Ptr{Cvoid}
end

struct Completion_
    size::UInt32
    queue::UInt64
    tag::UInt64
    callback::Ptr{Cvoid}
    context::Ptr{Cvoid}
end
Completion_(queue, tag) = Completion_(sizeof(Completion_), queue, tag, C_NULL, C_NULL)

struct QueueOptions_
    size::UInt32
    descriptor::Int32
    wake::Ptr{Cvoid}
    context::Ptr{Cvoid}
end

struct CallOptions_
    size::UInt32
    flags::UInt32
    timeout_ns::Int64
    metadata::Ptr{Pair_}
    metadata_count::Csize_t
    max_receive_bytes::UInt32
    max_send_bytes::UInt32
    bearer_token::Ptr{UInt8}
    compression::Ptr{UInt8}
    content_subtype::Ptr{UInt8}
end

const UNARY, READ, WRITE = UInt32(1), UInt32(2), UInt32(3)
const WAIT_FOR_READY = UInt32(1)
const WRITE_LAST = UInt32(1)
const ABI_VERSION = UInt32(1)

const symbols = Dict{Symbol,Ptr{Cvoid}}() # is complete before the first call, since any thread may read it
symbol(name::Symbol) = symbols[name]

function load(name)
    library = Libdl.dlopen(name, Libdl.RTLD_LOCAL | Libdl.RTLD_NOW)
    for function_name in (:abi_version, :call_cancel, :call_release, :channel_close, :channel_create, :channel_destroy, :error_name,
                          :events_release, :last_error, :queue_create, :queue_take, :read, :shutdown, :stream, :unary, :write,
                          :writes_done)
        full = Symbol(:coracle_, function_name)
        symbols[full] = Libdl.dlsym(library, full)
    end
end

"A function of the library was used wrongly, or cannot go on."
struct UsageError <: Exception
    name::String
    text::String
end
Base.showerror(io::IO, e::UsageError) = print(io, e.name, ": ", e.text)

function check(error::Cint)
    error == 0 && return nothing
    name = unsafe_string(ccall(symbol(:coracle_error_name), Cstring, (Cint,), error))
    throw(UsageError(name, unsafe_string(ccall(symbol(:coracle_last_error), Cstring, ()))))
end

bytes_at(from::Ptr{UInt8}, size) = size == 0 ? UInt8[] : copy(unsafe_wrap(Array, from, size))
text_at(from::Ptr{UInt8}, size) = size == 0 ? "" : unsafe_string(from, size)
function pairs_at(from::Ptr{Pair_}, count)
    map(1:count) do i
        p = unsafe_load(from, i)
        key = text_at(p.key, p.key_size)
        key => (endswith(key, "-bin") ? bytes_at(p.value, p.value_size) : text_at(p.value, p.value_size))
    end
end
