#include "tools/frames/capture.hpp"

#include "tools/failure.hpp"
#include "tools/frames/frame_names.hpp"

#include <coracle/net/address.hpp>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace coracle::tools {

namespace {

// --- numbers in the byte order of networks, and blocks of pcapng in that of this machine

void add_network(std::string& to, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) to.push_back(static_cast<char>(value >> shift));
}

template <class T>
void add_host(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void add_padded(std::string& to, std::string_view bytes) {
  to.append(bytes);
  to.append((4 - bytes.size() % 4) % 4, '\0');
}

void add_option(std::string& to, std::uint16_t code, std::string_view value) {
  add_host(to, code);
  add_host(to, static_cast<std::uint16_t>(value.size()));
  add_padded(to, value);
}

void add_block(std::string& to, std::uint32_t type, const std::string& body) {
  const auto whole = static_cast<std::uint32_t>(body.size() + 12);
  add_host(to, type);
  add_host(to, whole);
  to.append(body);
  add_host(to, whole);
}

constexpr std::uint16_t option_end = 0;
constexpr std::uint16_t option_comment = 1;
constexpr std::uint16_t packet_flags = 2;
constexpr std::uint16_t interface_resolution = 9;

std::string start_of_file() {
  constexpr std::uint32_t section_header = 0x0a0d0d0a;
  constexpr std::uint32_t interface_description = 1;
  constexpr std::uint16_t raw_ip = 101;
  std::string file, body;
  add_host(body, std::uint32_t{0x1a2b3c4d});
  add_host(body, std::uint16_t{1});
  add_host(body, std::uint16_t{0});
  add_host(body, std::int64_t{-1});
  add_block(file, section_header, body);
  body.clear();
  add_host(body, raw_ip);
  add_host(body, std::uint16_t{0});
  add_host(body, std::uint32_t{0});
  add_option(body, interface_resolution, "\x09");  // nanoseconds
  add_option(body, option_end, "");
  add_block(file, interface_description, body);
  return file;
}

// --- header blocks that need no table (RFC 7541): fields of the static table, and literals without indexing

void add_integer(std::string& to, std::uint8_t first, int prefix_bits, std::size_t value) {
  const std::size_t limit = (std::size_t{1} << prefix_bits) - 1;
  if (value < limit) return to.push_back(static_cast<char>(first | value));
  to.push_back(static_cast<char>(first | limit));
  for (value -= limit; value >= 128; value /= 128) to.push_back(static_cast<char>(value % 128 + 128));
  to.push_back(static_cast<char>(value));
}

void add_string(std::string& to, std::string_view text) {
  add_integer(to, 0, 7, text.size());
  to.append(text);
}

void add_literal(std::string& to, std::size_t name_index, std::string_view value) {
  add_integer(to, 0, 4, name_index);
  add_string(to, value);
}

void add_literal(std::string& to, std::string_view name, std::string_view value) {
  to.push_back('\0');
  add_string(to, name);
  add_string(to, value);
}

constexpr char indexed_post = '\x83';
constexpr char indexed_http = '\x86';
constexpr char indexed_200 = '\x88';
constexpr std::size_t index_path = 4;
constexpr std::size_t index_content_type = 31;

// --- connections and streams

// One direction of a stream: what its DATA consists of.
struct stream_direction {
  bool begins = false;  // its first HEADERS were recorded, so that positions in its DATA are known
  std::uint64_t data_bytes = 0;
  std::vector<std::pair<std::uint64_t, bool>> messages;  // bytes, compressed
  // While it is written:
  bool sent_headers = false;
  std::size_t next_message = 0;
  std::uint64_t position = 0;
  std::uint64_t message_at = 0;  // where the next message begins
};

struct captured_stream {
  std::string path;  // empty: no call of gRPC
  std::optional<status_code> status;
  stream_direction from_client;
  stream_direction from_server;
};

struct captured_connection {
  bool client = false;  // the recorded side
  bool opened = false;  // its begin was recorded
  bool wrote_preface = false;
  net::address of_client;
  net::address of_server;
  std::uint32_t client_sequence = 1;
  std::uint32_t server_sequence = 1;
  std::map<std::uint32_t, captured_stream> streams;
};

constexpr std::size_t capture_bytes_max = std::size_t{1} << 30;
constexpr std::uint16_t default_server_port = 50051;
constexpr std::size_t envelope_prefix_bytes = 5;
// Of TCP in one packet: IPv4 and IPv6 have room for 65,535 bytes with their headers.
constexpr std::size_t segment_bytes_max = 65000;

class capture_writer {
 public:
  capture_writer(const recording& from, const std::function<bool(const recorded_event&)>& included)
      : from_(from), included_(included) {}

  capture run() {
    for (const recorded_event& e : from_.events()) prepare(e);
    for (auto& [number, c] : connections_) choose_addresses(number, c);
    made_.bytes = start_of_file();
    for (const recorded_event& e : from_.events())
      if (e.connection != 0 && included_(e)) write(e);
    return std::move(made_);
  }

 private:
  void prepare(const recorded_event& e) {
    if (e.connection == 0) return;
    captured_connection& c = connections_[e.connection];
    if (e.kind == recorded_kind::connection_opened) prepare_opened(c, e);
    if (e.kind == recorded_kind::call_began) c.client = e.client;
    if (e.stream == 0) return;
    captured_stream& s = c.streams[e.stream];
    if (e.kind == recorded_kind::call_began)
      s.path = e.method.empty() ? std::string(e.text) : std::string(e.method);
    if (e.kind == recorded_kind::call_began && s.path.empty()) s.path = "/";
    if (e.kind == recorded_kind::call_ended) s.status = e.status;
    if (e.kind != recorded_kind::frame && e.kind != recorded_kind::message) return;
    stream_direction& d = of(s, c, e.sent);
    if (e.kind == recorded_kind::message) d.messages.emplace_back(e.length, e.compressed);
    else if (e.frame_type == frame_types::headers) d.begins = d.begins || d.data_bytes == 0;
    else if (e.frame_type == frame_types::data) d.data_bytes += e.length;
  }

  static void prepare_opened(captured_connection& c, const recorded_event& e) {
    c.client = e.client;
    c.opened = true;
    const std::size_t space = e.text.find(' ');
    const auto local = net::address::parse(e.text.substr(0, space));
    const auto peer = net::address::parse(space == e.text.npos ? "" : e.text.substr(space + 1));
    if (!local.ok() || !peer.ok() || !local->is_ip() || local->kind() != peer->kind()) return;
    c.of_client = e.client ? *local : *peer;
    c.of_server = e.client ? *peer : *local;
  }

  // A capture knows connections by their addresses.
  void choose_addresses(std::uint32_t number, captured_connection& c) {
    const auto pair = std::pair(c.of_client.to_string(), c.of_server.to_string());
    if (!c.of_client.is_ip() || !used_.insert(pair).second) {
      const std::uint16_t port = c.of_server.is_ip() ? c.of_server.port() : default_server_port;
      const auto byte = [&](int shift) { return static_cast<std::uint8_t>(number >> shift); };
      c.of_client =
          net::address::ipv4({10, static_cast<std::uint8_t>(1 + byte(16) % 254), byte(8), byte(0)}, 40000);
      c.of_server = net::address::ipv4({10, 0, 0, 1}, port);
    }
    made_.server_ports.insert(c.of_server.port());
  }

  static stream_direction& of(captured_stream& s, const captured_connection& c, bool sent) {
    return sent == c.client ? s.from_client : s.from_server;
  }

  void write(const recorded_event& e) {
    captured_connection& c = connections_.at(e.connection);
    if (e.kind == recorded_kind::connection_closed) return add_packet(c, e, "", true);
    if (e.kind != recorded_kind::frame || e.frame_type == frame_types::continuation) return;
    const bool from_client = e.sent == c.client;
    std::string bytes;
    if (from_client && c.opened && !std::exchange(c.wrote_preface, true))
      bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    std::uint8_t flags =
        e.frame_flags & static_cast<std::uint8_t>(~(frame_flags::padded | frame_flags::priority));
    if (e.frame_type == frame_types::headers) flags |= frame_flags::end_headers;
    const std::string payload = payload_of(c, e, from_client);
    add_network(bytes, payload.size(), 3);
    bytes.push_back(static_cast<char>(e.frame_type));
    bytes.push_back(static_cast<char>(flags));
    add_network(bytes, e.stream, 4);
    bytes.append(payload);
    for (std::size_t at = 0; at < bytes.size(); at += segment_bytes_max)
      add_packet(c, e, std::string_view(bytes).substr(at, segment_bytes_max), false);
  }

  static std::string payload_of(captured_connection& c, const recorded_event& e, bool from_client) {
    std::string payload;
    switch (e.frame_type) {
      case frame_types::headers: return block_of(c.streams[e.stream], e, from_client);
      case frame_types::data: return data_of(c.streams[e.stream], e, from_client);
      case frame_types::rst_stream: add_network(payload, e.value.value_or(0), 4); return payload;
      case frame_types::window_update: add_network(payload, e.value.value_or(1), 4); return payload;
      case frame_types::goaway:
        add_network(payload, 0, 4);
        add_network(payload, e.value.value_or(0), 4);
        payload.resize(std::max<std::size_t>(payload.size(), e.length), '\0');
        return payload;
      default: return std::string(e.length, '\0');
    }
  }

  static std::string block_of(captured_stream& s, const recorded_event& e, bool from_client) {
    std::string block;
    const bool ends = (e.frame_flags & frame_flags::end_stream) != 0;
    const bool is_grpc = !s.path.empty();
    stream_direction& d = from_client ? s.from_client : s.from_server;
    // Without the first HEADERS, those that end the stream are the trailers.
    const bool first = !std::exchange(d.sent_headers, true) && d.begins;
    if (from_client) {
      if (!first) return block;
      block = {indexed_post, indexed_http};
      add_literal(block, index_path, is_grpc ? s.path : "/");
      if (is_grpc) add_literal(block, index_content_type, "application/grpc");
      if (is_grpc) add_literal(block, "te", "trailers");
      return block;
    }
    if (first) block.push_back(indexed_200);
    if (first && is_grpc) add_literal(block, index_content_type, "application/grpc");
    if (ends && is_grpc && s.status)
      add_literal(block, "grpc-status", std::to_string(static_cast<int>(*s.status)));
    return block;
  }

  // The prefixes of the messages are where the messages begin; the rest is zeros.
  static std::string data_of(captured_stream& s, const recorded_event& e, bool from_client) {
    std::string payload(e.length, '\0');
    stream_direction& d = from_client ? s.from_client : s.from_server;
    const std::uint64_t from = std::exchange(d.position, d.position + e.length);
    if (s.path.empty() || !d.begins) return payload;
    while (d.message_at < d.position) {
      std::uint64_t bytes = d.data_bytes - d.message_at -
                            std::min<std::uint64_t>(d.data_bytes - d.message_at, envelope_prefix_bytes);
      bool compressed = false;
      if (d.next_message < d.messages.size()) std::tie(bytes, compressed) = d.messages[d.next_message];
      std::string prefix(1, compressed ? '\1' : '\0');
      add_network(prefix, bytes, 4);
      for (std::size_t i = 0; i < prefix.size(); ++i)
        if (d.message_at + i >= from && d.message_at + i < d.position)
          payload[d.message_at + i - from] = prefix[i];
      if (d.message_at + prefix.size() > d.position) break;  // the rest of the prefix is in the next frame
      ++d.next_message;
      d.message_at += prefix.size() + bytes;
    }
    return payload;
  }

  static void add_ip(std::string& to, const net::address& from, const net::address& at,
                     std::size_t tcp_bytes) {
    constexpr std::uint8_t tcp = 6;
    constexpr std::uint8_t hops = 64;
    if (from.kind() == net::address::family::ipv6) {
      add_network(to, std::uint64_t{0x60000000}, 4);
      add_network(to, tcp_bytes, 2);
      add_network(to, tcp, 1);
      add_network(to, hops, 1);
      for (const net::address* const a : {&from, &at})
        to.append(reinterpret_cast<const char*>(a->ip_bytes().data()), 16);
      return;
    }
    const std::size_t start = to.size();
    add_network(to, 0x4500, 2);
    add_network(to, tcp_bytes + 20, 2);
    add_network(to, 0x00004000, 4);  // not fragmented
    add_network(to, hops, 1);
    add_network(to, tcp, 1);
    add_network(to, 0, 2);  // the checksum
    for (const net::address* const a : {&from, &at})
      to.append(reinterpret_cast<const char*>(a->ip_bytes().data()), 4);
    std::uint32_t sum = 0;
    for (std::size_t i = start; i < to.size(); i += 2)
      sum += static_cast<std::uint8_t>(to[i]) * 256u + static_cast<std::uint8_t>(to[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~((sum & 0xffff) + (sum >> 16));
    to[start + 10] = static_cast<char>(sum >> 8);
    to[start + 11] = static_cast<char>(sum);
  }

  static std::string comment_of(const recorded_event& e) {
    std::string text = "loop " + std::to_string(e.loop) + ", connection " + std::to_string(e.connection);
    if (!e.method.empty()) text.append(", ").append(e.method);
    if (e.kind == recorded_kind::connection_closed && !e.text.empty())
      text.append(", closed: ").append(e.text);
    return text;
  }

  void add_packet(captured_connection& c, const recorded_event& e, std::string_view payload, bool last) {
    constexpr std::uint16_t header_without_options = 5u << 12;
    constexpr std::uint16_t ack = 0x10;
    constexpr std::uint16_t push = 0x08;
    constexpr std::uint16_t fin = 0x01;
    const bool from_client = last ? c.client : e.sent == c.client;
    std::uint32_t& sequence = from_client ? c.client_sequence : c.server_sequence;
    const std::uint32_t other = from_client ? c.server_sequence : c.client_sequence;
    const net::address& source = from_client ? c.of_client : c.of_server;
    const net::address& target = from_client ? c.of_server : c.of_client;
    std::string packet;
    add_ip(packet, source, target, payload.size() + 20);
    add_network(packet, source.port(), 2);
    add_network(packet, target.port(), 2);
    add_network(packet, sequence, 4);
    add_network(packet, other, 4);
    add_network(packet, header_without_options | ack | (last ? fin : push), 2);
    add_network(packet, 65535, 2);
    add_network(packet, 0, 4);  // checksum, urgent
    packet.append(payload);
    sequence += static_cast<std::uint32_t>(payload.size()) + (last ? 1 : 0);
    constexpr std::uint32_t enhanced_packet = 6;
    const auto ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(e.when.time_since_epoch()).count());
    std::string body;
    add_host(body, std::uint32_t{0});
    add_host(body, static_cast<std::uint32_t>(ns >> 32));
    add_host(body, static_cast<std::uint32_t>(ns));
    add_host(body, static_cast<std::uint32_t>(packet.size()));
    add_host(body, static_cast<std::uint32_t>(packet.size()));
    add_padded(body, packet);
    add_option(body, option_comment, comment_of(e));
    const std::uint32_t inbound_or_outbound = last || e.sent ? 2 : 1;
    add_option(body, packet_flags,
               {reinterpret_cast<const char*>(&inbound_or_outbound), sizeof inbound_or_outbound});
    add_option(body, option_end, "");
    add_block(made_.bytes, enhanced_packet, body);
    if (made_.bytes.size() > capture_bytes_max)
      throw failure("the capture exceeds 1 GiB, because the recording has that much data",
                    "choose a part of it by --connection, --stream or --method");
    ++made_.packets;
  }

  const recording& from_;
  const std::function<bool(const recorded_event&)>& included_;
  std::map<std::uint32_t, captured_connection> connections_;
  std::set<std::pair<std::string, std::string>> used_;
  capture made_;
};

}  // namespace

capture capture_of(const recording& from, const std::function<bool(const recorded_event&)>& included) {
  return capture_writer(from, included).run();
}

}  // namespace coracle::tools
