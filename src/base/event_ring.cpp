#include "base/event_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

namespace coracle::base {

namespace {

struct text_record {
  event_kind kind;
  std::uint8_t part;
  char text[14];
};
static_assert(sizeof(text_record) == sizeof(event_record));

}  // namespace

heap_event_ring::heap_event_ring()
    : memory_(static_cast<event_record*>(
          ::operator new(event_ring::size_bytes, std::align_val_t{event_ring::alignment_bytes}))),
      ring_(memory_) {
  std::memset(static_cast<void*>(memory_), 0, event_ring::size_bytes);
}

heap_event_ring::~heap_event_ring() {
  ::operator delete(memory_, std::align_val_t{event_ring::alignment_bytes});
}

event_ring& event_ring::of_thread() {
  // A pointer: a library that is loaded late has little room for variables of threads.
  static thread_local const auto ring = std::make_unique<heap_event_ring>();
  return ring->get();
}

std::uint32_t event_ring::next_connection() noexcept {
  static constinit std::atomic<std::uint32_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void event_ring::text(std::string_view t) noexcept {
  t = t.substr(0, text_bytes_max);
  for (std::uint8_t part = 0; !t.empty(); ++part) {
    text_record piece{event_kind::text, part, {}};
    const std::size_t n = std::min(t.size(), sizeof piece.text);
    std::memcpy(piece.text, t.data(), n);
    event_record* const at = place();
    std::memcpy(static_cast<void*>(at), &piece, sizeof piece);
    next_ = at + 1;
    t.remove_prefix(n);
  }
}

void event_ring::connection_opened(std::uint32_t connection, bool client, const address_bytes& local,
                                   const address_bytes& peer) noexcept {
  CORACLE_PROBE(connection__opened, connection, client, peer.port);
  write(event_kind::connection_opened, client, 0, connection, 0, 0);
  for (const std::uint8_t part : {0, 2, 1, 3}) {
    const address_bytes& of = part & address_part::peer ? peer : local;
    std::uint32_t words[2];
    std::memcpy(words, of.ip.data() + (part & address_part::second_half ? sizeof words : 0), sizeof words);
    write(event_kind::connection_address, part, of.port, connection, words[0], words[1]);
  }
}

void event_ring::connection_closed(std::uint32_t connection, std::uint32_t streams,
                                   std::string_view reason) noexcept {
  char terminated[text_bytes_max + 1];
  terminated[reason.copy(terminated, text_bytes_max)] = '\0';
  CORACLE_PROBE(connection__closed, connection, streams, &terminated[0]);
  write(event_kind::connection_closed, 0, 0, connection, 0, streams);
  text(reason);
}

void event_ring::web_call_began(std::uint32_t connection, std::uint32_t stream,
                                const method_name& method) noexcept {
  write(event_kind::call_began, 0, method.id, connection, stream, 0);
}

void event_ring::call_deadline(std::uint32_t connection, std::uint32_t stream, duration left) noexcept {
  const std::int64_t ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  write(event_kind::call_deadline, 0, 0, connection, stream,
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 1, ~std::uint32_t{0})));
}

void event_ring::unsent_call_ended(std::uint32_t call, std::uint8_t status, const char* path) noexcept {
  CORACLE_PROBE(client__call__ended, call, status, path);
  write(event_kind::client_call_ended, status, name_of(path).id, 0, 0, call);
}

void event_ring::long_iteration(std::size_t loop, duration d) noexcept {
  const auto us =
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
  CORACLE_PROBE(loop__long__iteration, static_cast<std::uint32_t>(loop), us);
  write(event_kind::long_iteration, 0, static_cast<std::uint16_t>(loop), 0, 0, us);
}

void event_ring::stalled(std::size_t loop, duration d) noexcept {
  const auto us =
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(d).count());
  CORACLE_PROBE(loop__stalled, static_cast<std::uint32_t>(loop), us);
  write(event_kind::stalled, 0, static_cast<std::uint16_t>(loop), 0, 0, us);
}

// Paths of stubs are literals, so their addresses repeat; another text may come to lie at the address of one
// that is none.
const method_name& event_ring::name_of(const char* path) noexcept {
  known_name& known = names_[reinterpret_cast<std::uintptr_t>(path) / 8 % names_.size()];
  if (known.path == path && std::strcmp(known.name->text, path) == 0) [[likely]]
    return *known.name;
  known = {path, &method_names::of_client(path)};
  return *known.name;
}

event_ring::contents event_ring::read() const noexcept {
  const event_record* const next = place();
  const bool full = next->kind != event_kind::none;
  const std::span older(next, full ? static_cast<std::size_t>(memory_ + capacity - next) : 0);
  return {older, std::span<const event_record>(memory_, static_cast<std::size_t>(next - memory_))};
}

namespace {
constinit std::mutex entries_mutex;
}  // namespace

event_ring_entry::event_ring_entry(const event_ring& ring, const void* owner, std::size_t index,
                                   std::int64_t wall_offset_ns) noexcept
    : ring_(&ring), owner_(owner), index_(index), wall_offset_ns_(wall_offset_ns) {
  const std::lock_guard lock(entries_mutex);
  next_ = event_rings.first;
  if (next_) next_->previous_ = this;
  event_rings.first = this;
}

event_ring_entry::~event_ring_entry() {
  const std::lock_guard lock(entries_mutex);
  if (next_) next_->previous_ = previous_;
  (previous_ ? previous_->next_ : event_rings.first) = next_;
}

}  // namespace coracle::base
