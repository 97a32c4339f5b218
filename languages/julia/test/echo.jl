# A message of the tests with its encoding by hand, as protobuf has it: string text = 1; uint32 count = 2.
struct Text
    text::String
    count::UInt32
end
Text(text::AbstractString) = Text(text, 0)

function put_varint(io, value)
    while value >= 0x80
        write(io, UInt8(value & 0x7f | 0x80))
        value >>= 7
    end
    write(io, UInt8(value))
end
function get_varint(io)
    value, shift = UInt64(0), 0
    while true
        byte = read(io, UInt8)
        value |= UInt64(byte & 0x7f) << shift
        byte < 0x80 && return value
        shift += 7
    end
end

# --8<-- [start:encode]
function Coracle.encode(t::Text)
    io = IOBuffer()
    if !isempty(t.text)
        write(io, 0x0a)
        put_varint(io, UInt64(sizeof(t.text)))
        write(io, t.text)
    end
    if t.count != 0
        write(io, 0x10)
        put_varint(io, UInt64(t.count))
    end
    take!(io)
end
function Coracle.decode(::Type{Text}, bytes::Vector{UInt8})
    io = IOBuffer(bytes)
    text, count = "", UInt32(0)
    while !eof(io)
        key = get_varint(io)
        key == 0x0a ? (text = String(read(io, get_varint(io)))) : (count = UInt32(get_varint(io)))
    end
    Text(text, count)
end
# --8<-- [end:encode]
