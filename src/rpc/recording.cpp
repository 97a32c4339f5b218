#include "coracle/rpc/recorder.hpp"

#include "base/event_ring.hpp"
#include "base/printable.hpp"
#include "base/recording_file.hpp"
#include "coracle/net/address.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace coracle {

std::string name_of_frame(std::uint8_t type) {
  static constexpr std::array<std::string_view, 10> names{
      "DATA",         "HEADERS", "PRIORITY", "RST_STREAM",    "SETTINGS",
      "PUSH_PROMISE", "PING",    "GOAWAY",   "WINDOW_UPDATE", "CONTINUATION"};
  return type < names.size() ? std::string(names[type]) : "type " + std::to_string(type);
}

namespace {

using base::event_kind;
using base::event_record;

// RFC 9113 6.
constexpr std::uint8_t frame_data = 0;
constexpr std::uint8_t frame_headers = 1;
constexpr std::uint8_t flag_end_stream = 0x1;
constexpr std::uint8_t flag_end_headers = 0x4;

constexpr std::uint64_t key_of(std::uint32_t high, std::uint32_t low) noexcept {
  return std::uint64_t{high} << 32 | low;
}

status damaged(std::string_view what) {
  return status::data_loss("the recording is damaged: " + std::string(what));
}

wall_time wall_time_of(std::int64_t ns) noexcept {
  return wall_time(std::chrono::duration_cast<wall_time::duration>(std::chrono::nanoseconds(ns)));
}

// Sums of what a file says may exceed the range of the type.
std::int64_t sum(std::int64_t a, std::uint64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + b);
}

}  // namespace

// Reads the format of base/recording_file.hpp. What it reads may be damaged, by mistake or on purpose: each
// length is compared with what is there, and each number with what it may be.
class recording_parser {
 public:
  explicit recording_parser(recording& to) : to_(to), rest_(to.bytes_) {}
  status run();

 private:
  // The events of one ring, while it is read.
  struct ring {
    std::int64_t wall_offset_ns = 0;
    std::int64_t time_ns = 0;
    bool has_time = false;  // events before the first time have an unknown one
    std::uint32_t runtime = 0;
    std::uint32_t loop = 0;
    std::unordered_map<std::uint32_t, std::uint32_t> last_headers;  // sent: stream, by connection
    struct attempt {
      std::uint32_t connection;
      std::uint32_t stream;
      std::string_view method;
    };
    std::unordered_map<std::uint32_t, attempt> attempts;  // by number of the call
    std::string text;  // of the last event, as far as it was read
    std::size_t text_parts = 0;
    bool takes_text = false;
    std::array<std::array<std::uint8_t, 16>, 2> ips{};
  };

  template <class T>
  bool take(T& into) noexcept {
    if (rest_.size() < sizeof into) return false;
    std::memcpy(&into, rest_.data(), sizeof into);
    rest_.remove_prefix(sizeof into);
    return true;
  }
  std::string_view keep(std::string_view text) {
    return text.empty()
               ? text
               : std::string_view(to_.texts_.emplace_back(text.begin(), text.end()).data(), text.size());
  }
  [[nodiscard]] std::string_view method(std::uint16_t id) const noexcept {
    return id == 0 || id > names_.size() ? std::string_view() : names_[id - 1];
  }
  recorded_event& add(const ring& r, recorded_kind kind, const event_record& e);
  recorded_event& add_frame(const ring& r, const event_record& e, bool sent, std::uint8_t type,
                            std::uint8_t flags, std::uint32_t length);
  void read_event(ring& r, const event_record& e);
  void read_received_frame(ring& r, const event_record& e);
  void read_address(ring& r, const event_record& e);
  void read_text(ring& r, const event_record& e);
  void finish_text(ring& r);
  void sort_by_time();
  void name_streams();

  recording& to_;
  std::string_view rest_;
  std::vector<std::string_view> names_;
};

status recording_parser::run() {
  base::recording_header header;
  if (!take(header)) return status::data_loss("this is no recording: the file is too short");
  constexpr std::uint64_t version_mask = 0xffffULL << 48;
  if ((header.magic | version_mask) != (base::recording_header::magic_of_version_1 | version_mask))
    return status::data_loss("this is no recording, or one of a machine with another byte order");
  if (header.magic != base::recording_header::magic_of_version_1)
    return status::unimplemented(
        "the recording has a newer format: read it with the `coracle` of that version");
  if (header.event_bytes != sizeof(event_record)) return damaged("the size of its events is wrong");
  to_.process_ = header.process;
  to_.signal_ = header.signal;
  to_.written_ = wall_time_of(header.wall_ns);
  for (std::uint32_t i = 0; i < header.names; ++i) {
    std::uint16_t length = 0;
    if (!take(length) || length > rest_.size()) return damaged("it ends in its names of methods");
    names_.push_back(keep(base::printable(rest_.substr(0, length), base::method_name::text_bytes_max)));
    rest_.remove_prefix(length);
  }
  for (std::uint32_t i = 0; i < header.rings; ++i) {
    base::ring_header of;
    if (!take(of)) return damaged("it ends before the events of a loop");
    if (of.events > rest_.size() / sizeof(event_record)) return damaged("it ends in the events of a loop");
    ring r;
    r.wall_offset_ns = of.wall_offset_ns;
    r.runtime = of.runtime;
    r.loop = of.loop;
    for (std::uint64_t n = 0; n < of.events; ++n) {
      event_record e;
      take(e);
      read_event(r, e);
    }
    finish_text(r);
  }
  if (!rest_.empty()) return damaged("bytes follow its end");
  sort_by_time();
  name_streams();
  return {};
}

// Events of one time keep their order. Not by std::stable_sort(), for which clang warns of what it uses.
void recording_parser::sort_by_time() {
  const std::vector<recorded_event>& all = to_.events_;
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(all[a].when, a) < std::tie(all[b].when, b);
  });
  std::vector<recorded_event> sorted;
  sorted.reserve(all.size());
  for (const std::size_t i : order) sorted.push_back(std::move(to_.events_[i]));
  to_.events_ = std::move(sorted);
}

recorded_event& recording_parser::add(const ring& r, recorded_kind kind, const event_record& e) {
  recorded_event& made = to_.events_.emplace_back();
  made.kind = kind;
  made.runtime = r.runtime;
  made.loop = r.loop;
  made.when = wall_time_of(sum(r.time_ns, static_cast<std::uint64_t>(r.wall_offset_ns)));
  made.connection = e.connection;
  made.stream = e.stream;
  return made;
}

recorded_event& recording_parser::add_frame(const ring& r, const event_record& e, bool sent,
                                            std::uint8_t type, std::uint8_t flags, std::uint32_t length) {
  recorded_event& f = add(r, recorded_kind::frame, e);
  f.sent = sent;
  f.frame_type = type;
  f.frame_flags = flags;
  constexpr std::uint32_t length_mask = 0xffffff;  // RFC 9113 4.1
  f.length = length & length_mask;
  return f;
}

void recording_parser::read_event(ring& r, const event_record& e) {
  if (e.kind == event_kind::time) {
    r.time_ns = static_cast<std::int64_t>(key_of(e.value, e.stream));
    r.has_time = true;
    return;
  }
  if (!r.has_time) return;
  if (e.kind == event_kind::text) return read_text(r, e);
  if (e.kind == event_kind::connection_address) return read_address(r, e);
  finish_text(r);
  switch (e.kind) {
    case event_kind::frame_received: return read_received_frame(r, e);
    case event_kind::frame_sent:
      if (e.detail == frame_headers) r.last_headers[e.connection] = e.stream;
      add_frame(r, e, true, e.detail, static_cast<std::uint8_t>(e.extra), e.value);
      return;
    case event_kind::reply_sent: {
      add_frame(r, e, true, frame_headers, flag_end_headers, e.extra);
      add_frame(r, e, true, frame_data, 0, e.value);
      add_frame(r, e, true, frame_headers, flag_end_headers | flag_end_stream, e.detail);
      add(r, recorded_kind::call_ended, e).status = status_code::ok;
      return;
    }
    case event_kind::frame_value: {
      if (to_.events_.empty()) return;
      recorded_event& last = to_.events_.back();
      if (last.kind == recorded_kind::frame && last.connection == e.connection && last.frame_type == e.detail)
        last.value = e.value;
      return;
    }
    case event_kind::connection_opened:
      add(r, recorded_kind::connection_opened, e).client = e.detail != 0;
      return;
    case event_kind::connection_closed:
      add(r, recorded_kind::connection_closed, e);
      r.takes_text = true;
      return;
    case event_kind::call_began: {
      add(r, recorded_kind::call_began, e).method = method(e.extra);
      r.takes_text = e.extra == base::method_name::id_of_none;
      return;
    }
    case event_kind::call_deadline: {
      if (to_.events_.empty()) return;
      recorded_event& call = to_.events_.back();
      if (call.kind == recorded_kind::call_began) call.time = std::chrono::milliseconds(e.value);
      return;
    }
    case event_kind::call_ended:
      add(r, recorded_kind::call_ended, e).status = static_cast<status_code>(std::min<int>(e.detail, 16));
      return;
    case event_kind::attempt_began: {
      recorded_event& call = add(r, recorded_kind::call_began, e);
      call.client = true;
      call.call = e.value;
      call.attempts = e.detail;
      call.method = method(e.extra);
      if (call.stream == 0) call.stream = r.last_headers[e.connection];
      r.attempts[e.value] = {e.connection, call.stream, call.method};
      return;
    }
    case event_kind::call_queued: {
      recorded_event& call = add(r, recorded_kind::call_queued, e);
      call.client = true;
      call.call = e.value;
      call.method = method(e.extra);
      return;
    }
    case event_kind::client_call_ended: {
      recorded_event& call = add(r, recorded_kind::call_ended, e);
      call.client = true;
      call.call = e.value;
      call.status = static_cast<status_code>(std::min<int>(e.detail, 16));
      call.method = method(e.extra);
      if (const auto at = r.attempts.find(e.value); at != r.attempts.end()) {
        call.connection = at->second.connection;
        call.stream = at->second.stream;
        call.method = at->second.method;
        r.attempts.erase(at);
      }
      return;
    }
    case event_kind::message_received:
    case event_kind::message_sent: {
      recorded_event& m = add(r, recorded_kind::message, e);
      m.sent = e.kind == event_kind::message_sent;
      m.compressed = e.extra != 0;
      m.length = e.value;
      return;
    }
    case event_kind::long_iteration:
    case event_kind::stalled:
      add(r, e.kind == event_kind::stalled ? recorded_kind::loop_stalled : recorded_kind::long_iteration, e)
          .time = std::chrono::microseconds(e.value);
      return;
    case event_kind::none:
    case event_kind::time:
    case event_kind::text:
    case event_kind::connection_address: return;
  }
}

void recording_parser::read_received_frame(ring& r, const event_record& e) {
  const auto raw = std::bit_cast<base::received_frame_record>(e);
  const auto& o = raw.octets;
  event_record frame{};
  frame.connection = raw.head.connection;
  frame.stream = (std::uint32_t{o[5]} << 24 | std::uint32_t{o[6]} << 16 | std::uint32_t{o[7]} << 8 |
                  raw.head.last_octet) &
                 0x7fffffff;
  add_frame(r, frame, false, o[3], o[4], std::uint32_t{o[0]} << 16 | std::uint32_t{o[1]} << 8 | o[2]);
  if (raw.head.method == 0) return;
  add(r, recorded_kind::call_began, frame).method = method(raw.head.method);
  r.takes_text = raw.head.method == base::method_name::id_of_none;
}

// The four records of a connection's addresses follow connection_opened, the last one of the peer's.
void recording_parser::read_address(ring& r, const event_record& e) {
  if (to_.events_.empty()) return;
  recorded_event& opened = to_.events_.back();
  if (opened.kind != recorded_kind::connection_opened || opened.connection != e.connection) return;
  const bool second = (e.detail & base::address_part::second_half) != 0;
  auto& ip = r.ips[e.detail & base::address_part::peer];
  const std::uint32_t words[2] = {e.stream, e.value};
  std::memcpy(ip.data() + (second ? sizeof words : 0), words, sizeof words);
  if (!second) return;
  const bool has_v4 = ip[10] == 0xff && ip[11] == 0xff;
  const bool is_none = ip == std::array<std::uint8_t, 16>{} && e.extra == 0;
  std::string text = "-";
  if (has_v4) text = net::address::ipv4({ip[12], ip[13], ip[14], ip[15]}, e.extra).to_string();
  else if (!is_none) text = net::address::ipv6(ip, e.extra).to_string();
  opened.text = keep(opened.text.empty() ? text : std::string(opened.text) + " " + text);
}

void recording_parser::read_text(ring& r, const event_record& e) {
  constexpr std::size_t head_bytes = 2;
  if (!r.takes_text || e.detail != r.text_parts) return;
  const std::string_view piece(reinterpret_cast<const char*>(&e) + head_bytes, sizeof e - head_bytes);
  ++r.text_parts;
  r.text.append(piece.substr(0, piece.find('\0')));
}

void recording_parser::finish_text(ring& r) {
  if (std::exchange(r.takes_text, false) && !r.text.empty())
    to_.events_.back().text = keep(base::printable(r.text));
  r.text.clear();
  r.text_parts = 0;
}

// Gives each event of a stream the method of its call.
void recording_parser::name_streams() {
  std::unordered_map<std::uint64_t, std::string_view> methods;
  for (const recorded_event& e : to_.events_)
    if (e.kind == recorded_kind::call_began) methods.emplace(key_of(e.connection, e.stream), e.method);
  for (recorded_event& e : to_.events_) {
    if (!e.method.empty() || e.stream == 0) continue;
    if (const auto at = methods.find(key_of(e.connection, e.stream)); at != methods.end())
      e.method = at->second;
  }
}

result<recording> recording::parse(std::string bytes) {
  recording r;
  r.bytes_ = std::move(bytes);
  status outcome = recording_parser(r).run();
  if (!outcome.ok()) return outcome;
  return r;
}

result<recording> recording::read(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    const std::string text = "cannot open " + file + ": " + std::strerror(errno);
    return errno == ENOENT ? status::not_found(text) : status::unavailable(text);
  }
  std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return status::unavailable("cannot read " + file);
  result<recording> parsed = parse(std::move(bytes));
  if (!parsed) return status(parsed.status().code(), file + ": " + std::string(parsed.status().message()));
  return parsed;
}

namespace {

// Finds the call of each event: by the number of a client's call on its loop, and by the stream.
class call_index {
 public:
  explicit call_index(std::vector<recorded_call>& calls) : calls_(calls) {}

  // Returns the call of `e`, which it makes if it has none yet.
  recorded_call& call_of(const recorded_event& e) {
    std::size_t* const of_number = e.call != 0 ? find(by_number_, number_of(e)) : nullptr;
    std::size_t* const of_stream = e.stream != 0 ? find(by_stream_, key_of(e.connection, e.stream)) : nullptr;
    // The number of a call that is no stream of HTTP/2 may be used again.
    const bool is_new = !of_number && (!of_stream || (begins(e) && calls_[*of_stream].ended));
    std::size_t at = calls_.size();
    if (is_new) calls_.emplace_back();
    else at = of_number ? *of_number : *of_stream;
    // The HEADERS of an attempt are recorded before the attempt.
    if (of_number && of_stream && *of_number != *of_stream) merge(calls_[*of_stream], calls_[at]);
    if (e.call != 0) by_number_[number_of(e)] = at;
    if (e.stream != 0) by_stream_[key_of(e.connection, e.stream)] = at;
    return calls_[at];
  }

 private:
  using index = std::unordered_map<std::uint64_t, std::size_t>;
  static std::size_t* find(index& in, std::uint64_t key) {
    const auto at = in.find(key);
    return at == in.end() ? nullptr : &at->second;
  }
  static std::uint64_t number_of(const recorded_event& e) noexcept {
    return key_of(e.runtime << 16 | (e.loop & 0xffff), e.call);
  }
  static bool begins(const recorded_event& e) noexcept {
    return e.kind == recorded_kind::call_began || e.kind == recorded_kind::call_queued;
  }
  static void merge(recorded_call& from, recorded_call& to) {
    to.events.insert(to.events.end(), from.events.begin(), from.events.end());
    from.events.clear();
  }

  std::vector<recorded_call>& calls_;
  index by_number_;
  index by_stream_;
};

}  // namespace

std::vector<recorded_call> recording::calls() const {
  std::vector<recorded_call> calls;
  call_index index(calls);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const recorded_event& e = events_[i];
    if (e.call == 0 && e.stream == 0) continue;
    recorded_call& call = index.call_of(e);
    call.events.push_back(i);
    call.client = call.client || e.client;
    if (e.stream != 0) {
      call.connection = e.connection;
      call.stream = e.stream;
    }
    if (!e.method.empty()) call.method = e.method;
    else if (e.kind == recorded_kind::call_began) call.method = e.text;
    if (!call.ended) call.took = e.when - events_[call.events.front()].when;
    if (e.kind != recorded_kind::call_ended) continue;
    call.ended = true;
    call.status = e.status;
  }
  std::erase_if(calls, [](const recorded_call& c) { return c.events.empty(); });
  for (recorded_call& call : calls) {
    const recorded_event& first = events_[call.events.front()];
    call.began = first.when;
    call.runtime = first.runtime;
    call.loop = first.loop;
  }
  return calls;
}

}  // namespace coracle
