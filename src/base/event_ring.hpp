// event_ring: the latest events of one loop, as binary records in memory that a crash leaves behind.
#pragma once

#include "base/hot_and_cold.hpp"
#include "base/method_name.hpp"
#include "base/probe.hpp"
#include "coracle/base/clock.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace coracle::base {

// What a record says. The values are those of files, so they never change their meaning.
enum class event_kind : std::uint8_t {
  none = 0,  // no event was written here yet
  time = 1,  // the loop has read its clock: stream and value are the nanoseconds. Later events have this time
  frame_received = 2,  // see received_frame_record
  frame_sent = 3,  // detail: type; extra: flags; stream; value: length of the payload
  // A server's whole response with the status OK: HEADERS, DATA and trailers. detail: length of the trailers;
  // extra: length of the headers; value: length of the DATA.
  reply_sent = 4,
  // What a frame that has just been recorded says. detail: its type; extra: 1 if it was sent; value: error
  // code of RST_STREAM and GOAWAY, increment of WINDOW_UPDATE; stream: the last one, for GOAWAY.
  frame_value = 5,
  connection_opened = 6,  // detail: 1 for a client; two records of the addresses follow
  connection_address = 7,  // detail: address_part; extra: port; stream and value: eight bytes
  connection_closed = 8,  // value: streams that it had; the reason follows as text
  text = 9,  // detail: part, from 0; the other 14 bytes: text of the record before
  // Server: a call that is no stream of HTTP/2, or whose HEADERS are not the record before. extra: method. If
  // the method is not registered, the path follows as text.
  call_began = 10,
  call_ended = 11,  // server. detail: status
  // Client. detail: earlier attempts; extra: method; value: number of the call; stream: 0 for the one of the
  // HEADERS that the connection has sent last.
  attempt_began = 12,
  call_queued = 13,  // client: waits for a connection. extra: method; value: number of the call
  client_call_ended = 14,  // detail: status; extra: method, 0 after an attempt; value: number of the call
  message_received = 15,  // of a call that streams, or compressed. extra: 1 if compressed; value: bytes
  message_sent = 16,  // the same
  long_iteration = 17,  // value: microseconds
  stalled = 18,  // one runnable held the loop. value: microseconds
  call_deadline = 19,  // of the call that has just begun. value: ms that are left
};

// One event. The meaning of its numbers depends on its kind.
struct alignas(16) event_record {
  event_kind kind;
  std::uint8_t detail;
  std::uint16_t extra;
  std::uint32_t connection;
  std::uint32_t stream;
  std::uint32_t value;
};
static_assert(sizeof(event_record) == 16);

// A frame that was received, as it was on the wire (RFC 9113 4.1): copied in three pieces, it costs less than
// its fields. Most records are of this kind.
struct received_frame_head {
  event_kind kind = event_kind::frame_received;
  std::uint8_t last_octet = 0;  // of the frame header, which has nine
  std::uint16_t method = 0;  // of the call that these HEADERS have begun on a server; 0: none
  std::uint32_t connection = 0;
};
struct alignas(16) received_frame_record {
  received_frame_head head{};
  std::array<std::uint8_t, 8> octets{};
};
static_assert(sizeof(received_frame_record) == sizeof(event_record));

// The parts of an address: which side, which half of its 16 bytes (IPv4 as ::ffff:a.b.c.d).
namespace address_part {
inline constexpr std::uint8_t peer = 1;
inline constexpr std::uint8_t second_half = 2;
}  // namespace address_part

// The 16 bytes of an IPv6 address, or of an IPv4 address as ::ffff:a.b.c.d, and the port.
struct address_bytes {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
};

// Each loop has one ring, which its thread alone writes: an event costs about ten instructions, no lock, no
// atomic operation and no reading of the clock. Events have the time at which the loop has last read it.
//
// The functions are the sites of the library's events. Each carries the USDT probe of its event, too.
class event_ring {
 public:
  // 65,536 events: 13,000 unary calls of a server. The ring fits in the second level of the processor's
  // caches beside what calls use, so that writing it through costs little. An idle loop uses one page.
  static constexpr std::size_t size_bytes = std::size_t{1} << 20;
  static constexpr std::size_t alignment_bytes = 2 * size_bytes;
  static constexpr std::size_t capacity = size_bytes / sizeof(event_record);
  // Of a text: the reason why a connection ended, the path of an unregistered method.
  static constexpr std::size_t text_bytes_max = 112;
  // An iteration of a loop that takes longer is recorded: short against what a caller notices.
  static constexpr duration long_iteration_min = std::chrono::milliseconds(10);

  // memory: zeros, with this size and alignment. It must outlive the ring.
  explicit event_ring(event_record* memory) noexcept : next_(memory), memory_(memory), time_(memory) {}
  event_ring(const event_ring&) = delete;
  event_ring& operator=(const event_ring&) = delete;

  // The ring of events that belong to no loop, such as those of an engine that a test drives.
  static event_ring& of_thread();
  // Returns a number for a connection, unique in the process until it wraps. Any thread.
  static std::uint32_t next_connection() noexcept;
  std::uint32_t next_call() noexcept { return ++calls_; }

  // Events from here on have this time. Overwrites a time that no event followed, so that an idle loop writes
  // nothing new.
  void set_time(time_point now) noexcept {
    if (next_ != after_time_) [[unlikely]] {
      time_ = place();
      time_->kind = event_kind::time;
      after_time_ = next_ = time_ + 1;
    }
    const auto ns = static_cast<std::uint64_t>(now.time_since_epoch().count());
    time_->stream = static_cast<std::uint32_t>(ns);
    time_->value = static_cast<std::uint32_t>(ns >> 32);
  }

  // --- connections
  // header: the nine octets of the frame header; head: with the connection.
  void frame_received(const received_frame_head& head, const std::uint8_t* header) noexcept {
    event_record* const at = place();
    std::memcpy(static_cast<void*>(at), &head, sizeof head);
    std::memcpy(reinterpret_cast<char*>(at) + 8, header, 8);
    at->detail = header[8];
    next_ = at + 1;
  }
  void frame_sent(std::uint32_t connection, std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                  std::size_t length) noexcept {
    write(event_kind::frame_sent, type, flags, connection, stream, static_cast<std::uint32_t>(length));
  }
  void reply_sent(std::uint32_t connection, std::uint32_t stream, std::size_t head, std::size_t data,
                  std::size_t trailers) noexcept {
    CORACLE_PROBE(call__ended, connection, stream, 0);
    write(event_kind::reply_sent, static_cast<std::uint8_t>(trailers), static_cast<std::uint16_t>(head),
          connection, stream, static_cast<std::uint32_t>(data));
  }
  void frame_value(std::uint32_t connection, std::uint8_t type, bool sent, std::uint32_t stream,
                   std::uint32_t value) noexcept {
    constexpr std::uint8_t rst_stream = 3;
    constexpr std::uint8_t goaway = 7;
    if (type == rst_stream) CORACLE_PROBE(stream__reset, connection, stream, value, sent);
    if (type == goaway) CORACLE_PROBE(connection__goaway, connection, stream, value, sent);
    write(event_kind::frame_value, type, sent, connection, stream, value);
  }
  void connection_opened(std::uint32_t connection, bool client, const address_bytes& local,
                         const address_bytes& peer) noexcept;
  void connection_closed(std::uint32_t connection, std::uint32_t streams, std::string_view reason) noexcept;

  // --- calls
  // The frame that was recorded last begins a call.
  void call_began(std::uint32_t connection, std::uint32_t stream, const method_name& method) noexcept {
    CORACLE_PROBE(call__began, connection, stream, method.text);
    event_record& last = next_[-1];
    if (last.kind == event_kind::frame_received) [[likely]]
      last.extra = method.id;
    else web_call_began(connection, stream, method);
  }
  void web_call_began(std::uint32_t connection, std::uint32_t stream, const method_name& method) noexcept;
  void call_deadline(std::uint32_t connection, std::uint32_t stream, duration left) noexcept;
  void call_ended(std::uint32_t connection, std::uint32_t stream, std::uint8_t status) noexcept {
    CORACLE_PROBE(call__ended, connection, stream, status);
    write(event_kind::call_ended, status, 0, connection, stream, 0);
  }
  void attempt_began(std::uint32_t connection, std::uint32_t stream, std::uint32_t call,
                     const method_name& method, std::uint32_t earlier) noexcept {
    CORACLE_PROBE(attempt__began, connection, stream, call, method.text, earlier);
    write(event_kind::attempt_began, static_cast<std::uint8_t>(earlier), method.id, connection, stream, call);
  }
  void call_queued(std::uint32_t call, const method_name& method) noexcept {
    CORACLE_PROBE(call__queued, call, method.text);
    write(event_kind::call_queued, 0, method.id, 0, 0, call);
  }
  // After an attempt, which tells the connection and the method.
  void client_call_ended(std::uint32_t call, std::uint8_t status,
                         [[maybe_unused]] const char* path) noexcept {
    CORACLE_PROBE(client__call__ended, call, status, path);
    write(event_kind::client_call_ended, status, 0, 0, 0, call);
  }
  // Without one.
  CORACLE_COLD void unsent_call_ended(std::uint32_t call, std::uint8_t status, const char* path) noexcept;
  void message(bool sent, std::uint32_t connection, std::uint32_t stream, bool compressed,
               std::size_t bytes) noexcept {
    write(sent ? event_kind::message_sent : event_kind::message_received, 0, compressed, connection, stream,
          static_cast<std::uint32_t>(bytes));
  }
  // Text of the record before: cut after text_bytes_max.
  void text(std::string_view t) noexcept;

  // --- the loop
  void long_iteration(std::size_t loop, duration d) noexcept;
  void stalled(std::size_t loop, duration d) noexcept;

  // The name of a method that this loop calls. The path may have any lifetime.
  const method_name& name_of(const char* path) noexcept;

  // --- reading
  // What is in the ring, from the oldest event on, in two parts. The ring overwrites it: on another thread
  // than that of the loop, the oldest events may be newer ones, and the last one may be incomplete.
  struct contents {
    std::span<const event_record> older;
    std::span<const event_record> newer;
  };
  [[nodiscard]] contents read() const noexcept;

 private:
  void write(event_kind kind, std::uint8_t detail, std::uint16_t extra, std::uint32_t connection,
             std::uint32_t stream, std::uint32_t value) noexcept {
    event_record* const at = place();
    volatile event_record& to = *at;  // else GCC takes more instructions, to store several at once
    to.kind = kind;
    to.detail = detail;
    to.extra = extra;
    to.connection = connection;
    to.stream = stream;
    to.value = value;
    next_ = at + 1;
  }
  // Where the next record goes. The memory lies at a multiple of twice its size: behind its end, and only
  // there, this bit of the address is set.
  [[nodiscard]] event_record* place() const noexcept {
    return reinterpret_cast<event_record*>(reinterpret_cast<std::uintptr_t>(next_) &
                                           ~std::uintptr_t{size_bytes});
  }

  // event_ring_entry depends on the order of these two.
  event_record* next_;  // behind the last record, which may be the end of the memory
  event_record* const memory_;
  event_record* time_;  // the last time that was written
  event_record* after_time_ = nullptr;  // the record behind it
  std::uint32_t calls_ = 0;
  struct known_name {
    const char* path = nullptr;
    const method_name* name = nullptr;
  };
  std::array<known_name, 64> names_{};
};

// A ring with its memory on the heap, all of which it uses at once: where no loop is.
class heap_event_ring {
 public:
  // Throws std::bad_alloc.
  heap_event_ring();
  heap_event_ring(const heap_event_ring&) = delete;
  heap_event_ring& operator=(const heap_event_ring&) = delete;
  ~heap_event_ring();
  [[nodiscard]] event_ring& get() noexcept { return ring_; }

 private:
  event_record* const memory_;
  event_ring ring_;
};

// A connection with the ring of its loop: what records the events of the connection.
class recorded_connection {
 public:
  recorded_connection() : ring_(&event_ring::of_thread()) {}
  explicit recorded_connection(event_ring& ring) noexcept : ring_(&ring) {
    head_.connection = event_ring::next_connection();
  }
  [[nodiscard]] event_ring& ring() const noexcept { return *ring_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return head_.connection; }
  void frame_received(const std::uint8_t* header) const noexcept { ring_->frame_received(head_, header); }

 private:
  received_frame_head head_;
  event_ring* ring_;
};

// A ring that the recorder knows, for the lifetime of the entry. Any thread may make and destroy one. The
// process's list of them is read without a lock by signal handlers, and as raw memory by
// packaging/gdb/coracle-gdb.py: if you change the order of these members or of those of event_ring_list, of
// event_ring or of method_name, increment event_ring_list::current_version and adapt the script.
class event_ring_entry {
 public:
  // owner: the same for the loops of one runtime. wall_offset_ns: what turns the time of the loop into ns
  // since 1970.
  event_ring_entry(const event_ring& ring, const void* owner, std::size_t index,
                   std::int64_t wall_offset_ns) noexcept;
  event_ring_entry(const event_ring_entry&) = delete;
  event_ring_entry& operator=(const event_ring_entry&) = delete;
  ~event_ring_entry();

  [[nodiscard]] const event_ring_entry* next() const noexcept { return next_; }
  [[nodiscard]] const event_ring& ring() const noexcept { return *ring_; }
  [[nodiscard]] const void* owner() const noexcept { return owner_; }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] std::int64_t wall_offset_ns() const noexcept { return wall_offset_ns_; }

 private:
  event_ring_entry* next_ = nullptr;
  event_ring_entry* previous_ = nullptr;
  const event_ring* ring_;
  const void* owner_;
  std::size_t index_;
  std::int64_t wall_offset_ns_;
};

struct event_ring_list {
  static constexpr std::uint64_t current_version = 1;
  std::uint64_t version;
  std::uint64_t ring_bytes;
  event_ring_entry* first;
  const method_name* const* names;  // the number 1 is the first; each begins with its text
  std::atomic<std::uint64_t> name_count;
};
// Its symbol must survive, whatever visibility and optimisation at link time do to others.
[[gnu::visibility("default")]] extern event_ring_list event_rings;

}  // namespace coracle::base
