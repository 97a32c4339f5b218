// What an HTTP/1.1 engine says about bytes, as text that tests compare.
#pragma once

#include "http1/connection.hpp"

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::http1::testing {

inline std::string text_of(const http::header_list& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    if (!text.empty()) text += ", ";
    text.append(name).append("=").append(value);
  }
  return text;
}

// Takes the events that are due. Data of adjacent events is joined.
inline void append_event(std::string& log, const connection& c, const event& e) {
  switch (e.type) {
    case event::kind::none: break;
    case event::kind::headers:
      log += (e.informational ? "interim[" : "headers[") + text_of(c.fields()) + "]";
      break;
    case event::kind::data:
      if (log.ends_with('>')) log.pop_back();
      else log += "<";
      log.append(as_text(e.data)).append(">");
      break;
    case event::kind::end: log += "end[" + text_of(c.trailers()) + "]"; break;
    case event::kind::failed:
      log += "failed[" + std::to_string(e.status) + " " + std::string(e.reason) + "]";
      break;
  }
}

inline void send(connection& c, std::string_view body) {
  if (body.empty()) return;
  std::memcpy(c.reserve_body(body.size()), body.data(), body.size());
  c.commit_body(body.size());
}

// A server that answers each request with 204 when it is complete.
class server_transcript {
 public:
  explicit server_transcript(const limits& l = {}) : engine(role::server, l, {}) {}

  void feed(std::string_view bytes) {
    unread_ += bytes;
    do {
      const std::string now = std::exchange(unread_, {});
      engine.feed(as_bytes(now), {});
      for (event e; (e = engine.next()).type != event::kind::none;) take(e);
      unread_ = as_text(engine.take_unread());
    } while (engine.exchange_done() && !unread_.empty());
  }
  void feed_end() {
    engine.feed_end({});
    for (event e; (e = engine.next()).type != event::kind::none;) take(e);
  }

  connection engine;
  std::string log;

 private:
  void take(const event& e) {
    append_event(log, engine, e);
    if (e.type != event::kind::end) return;
    engine.begin_response(204, {});
    engine.end_headers();
    engine.output().clear();
  }
  std::string unread_;
};

// A client that has sent a request.
class client_transcript {
 public:
  explicit client_transcript(const limits& l = {}, std::string_view method = "GET")
      : engine(role::client, l, {}) {
    request(method);
  }
  void request(std::string_view method) {
    if (engine.begin_request(method, "/", "h", {})) engine.end_headers();
    engine.output().clear();
  }
  void feed(std::string_view bytes) {
    engine.feed(as_bytes(bytes), {});
    drain();
    unread += as_text(engine.take_unread());
  }
  void feed_end() {
    engine.feed_end({});
    drain();
  }

  connection engine;
  std::string log;
  std::string unread;

 private:
  void drain() {
    for (event e; (e = engine.next()).type != event::kind::none;) append_event(log, engine, e);
  }
};

// The transcript of `bytes` in pieces of `step`.
template <class Transcript, class... Arguments>
std::string transcript_of(std::string_view bytes, std::size_t step, const Arguments&... arguments) {
  Transcript t(arguments...);
  for (std::size_t at = 0; at < bytes.size(); at += step) t.feed(bytes.substr(at, step));
  return t.log;
}

}  // namespace coracle::http1::testing
