// An HTTP/1.1 engine in either role against hostile bytes: no crash, the same events for every division of
// the bytes, and no message that another peer would read differently.
//
// The first byte chooses the role, the limits, when a server responds, and how the bytes are divided; the
// rest is what the peer sends.
#include "http1/connection.hpp"
#include "unit/http1/transcript.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace http1 = coracle::http1;
using http1::event;
using http1::testing::client_transcript;
using http1::testing::server_transcript;
using http1::testing::text_of;

namespace {

void require(bool fine) {
  if (!fine) std::abort();
}

http1::limits small_limits() {
  http1::limits l;
  l.line_bytes = 40;
  l.header_bytes = 90;
  l.header_fields = 4;
  l.chunk_line_bytes = 16;
  l.chunk_extension_bytes = 24;
  l.trailer_bytes = 30;
  l.body_bytes = 60;
  l.interim_responses = 2;
  l.drain_bytes = 20;
  l.remembered_head_bytes = 50;
  return l;
}

// A sequence of piece sizes that depends on the seed only.
class pieces {
 public:
  explicit pieces(std::uint32_t seed) : state_(seed) {}
  std::size_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return 1 + (state_ >> 24) % 13;
  }

 private:
  std::uint32_t state_;
};

template <class Transcript>
std::string read(std::string_view bytes, const http1::limits& l, bool ends, pieces* divided) {
  Transcript t(l);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = divided ? divided->next() : bytes.size();
    t.feed(bytes.substr(at, n));
    at += n;
  }
  if (ends) t.feed_end();
  require(t.engine.next_timeout() == coracle::never || t.engine.busy());
  require(!t.engine.failed() || t.engine.closes());
  return t.log;
}

template <class Transcript>
void check_divisions(std::string_view bytes, const http1::limits& l, bool ends) {
  const std::string whole = read<Transcript>(bytes, l, ends, nullptr);
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    pieces divided(seed);
    require(read<Transcript>(bytes, l, ends, &divided) == whole);
  }
}

// What a server passes on: the fields without the framing, which a client writes anew.
std::string without_framing(const coracle::http::header_list& fields) {
  coracle::http::header_list kept;
  for (const auto& [name, value] : fields)
    if (name != "content-length" && name != ":scheme") kept.add(name, value);
  return text_of(kept);
}

// Each request that a server accepts is sent by a client to a second server, which has to see the same
// request.
void check_forwarding(std::string_view bytes) {
  http1::connection server(http1::role::server, {}, {});
  server.feed(coracle::as_bytes(bytes), {});
  std::string fields, body, trailers;
  for (event e; (e = server.next()).type != event::kind::none;) {
    if (e.type == event::kind::failed) return;
    if (e.type == event::kind::headers) fields = without_framing(server.fields());
    if (e.type == event::kind::data) body.append(coracle::as_text(e.data));
    if (e.type == event::kind::end) trailers = text_of(server.trailers());
  }
  if (server.exchange_done() || fields.empty() || server.next_timeout() != coracle::never) return;
  const auto& list = server.fields();
  http1::connection client(http1::role::client, {}, {});
  require(client.begin_request(list[0].value, *list.find(":path"), list.find(":authority").value_or(""),
                               {http1::framing::kind::chunked}));
  for (const auto& [name, value] : list)
    if (!name.starts_with(':') && name != "content-length") require(client.add_field(name, value));
  client.end_headers();
  http1::testing::send(client, body);
  client.end_body(&server.trailers());

  http1::limits wide;
  wide.line_bytes *= 2;
  wide.header_bytes *= 2;
  wide.trailer_bytes *= 2;
  wide.header_fields *= 2;
  http1::connection next(http1::role::server, wide, {});
  next.feed(client.output().pending(), {});
  std::string seen;
  bool ended = false;
  for (event e; (e = next.next()).type != event::kind::none;) {
    require(e.type != event::kind::failed && !ended);
    if (e.type == event::kind::headers) require(without_framing(next.fields()) == fields);
    if (e.type == event::kind::data) seen.append(coracle::as_text(e.data));
    if (e.type == event::kind::end) ended = true;
  }
  require(ended && seen == body && text_of(next.trailers()) == trailers && next.take_unread().empty());
}

// A server that responds to the headers of each request, before its body: the rest is drained.
void check_early_responses(std::string_view bytes, const http1::limits& l, pieces divided) {
  http1::connection server(http1::role::server, l, {});
  std::string unread;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t n = divided.next();
    unread += bytes.substr(at, n);
    at += n;
    do {
      const std::string now = std::exchange(unread, {});
      server.feed(coracle::as_bytes(now), {});
      for (event e; (e = server.next()).type != event::kind::none;) {
        if (e.type == event::kind::failed && !server.message_begun()) {
          server.begin_response(e.status == 0 ? 400 : e.status, {});
          server.end_headers();
        }
        if (e.type != event::kind::headers) continue;
        server.begin_response(200, {http1::framing::kind::chunked});
        server.end_headers();
        http1::testing::send(server, "ok");
        server.end_body(nullptr);
      }
      server.output().clear();
      unread = coracle::as_text(server.take_unread());
    } while (server.exchange_done() && !unread.empty());
    require(unread.empty());
  }
  server.release_idle_memory();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint8_t choice = data[0];
  const std::string_view bytes = coracle::as_text({data + 1, size - 1});
  const http1::limits l = (choice & 1) != 0 ? small_limits() : http1::limits();
  const bool ends = (choice & 2) != 0;
  if ((choice & 4) != 0) {
    check_divisions<client_transcript>(bytes, l, ends);
    return 0;
  }
  check_divisions<server_transcript>(bytes, l, ends);
  check_early_responses(bytes, l, pieces(choice));
  check_forwarding(bytes);
  return 0;
}
