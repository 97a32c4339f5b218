// Plays a conversation with one engine and records its events and its frames.
#pragma once

#include "http2/connection.hpp"
#include "support/http2/spell_frames.hpp"

#include <gtest/gtest.h>
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http2::test {

// An engine with a user that records everything. Pieces of DATA are joined, so that the record does not
// depend on how the bytes arrived.
class session {
 public:
  using reaction = std::function<void(session&, const event&)>;

  session(role r, const limits& l, reaction react) : engine(r, l, time_point{}), react_(std::move(react)) {
    engine.output().clear();
  }
  // Each piece has memory of its own, so that a sanitizer detects reads beyond it or after its life.
  void feed(std::string_view bytes) {
    const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    engine.feed({copy.get(), bytes.size()}, now);
    pump();
  }
  // Takes events, also those that are pending without bytes.
  void pump() {
    for (event e = engine.next(); e.type != event::kind::none; e = engine.next()) {
      write_down(e);
      react_(*this, e);
    }
  }
  // Returns the frames that were sent since the last call, as text.
  std::string take_frames() {
    engine.produce();
    const std::string words = spell_frames(as_text(engine.output().pending()));
    engine.output().clear();
    return words;
  }
  [[nodiscard]] std::string events() {
    end_data();
    return events_;
  }
  void note(std::string_view line) {
    end_data();
    events_.append(line).append("\n");
  }

  // Streams in the order in which they were opened or reported.
  [[nodiscard]] stream_ref stream(std::size_t i) const {
    return i < streams_.size() ? streams_[i] : no_stream;
  }
  [[nodiscard]] stream_ref stream() const { return streams_.empty() ? no_stream : streams_.back(); }

  // Small actions of a user.
  stream_ref open() {
    const stream_ref s = engine.open(nullptr);
    if (s != no_stream) streams_.push_back(s);
    return s;
  }
  stream_ref open_and_request(bool end_stream) {
    const stream_ref s = open();
    if (!engine.begin_headers(s)) return no_stream;
    for (auto [name, value] :
         {std::pair{":method", "POST"}, {":scheme", "http"}, {":path", "/a.B/C"}, {":authority", "h"}})
      engine.add_field(name, value);
    engine.end_headers(end_stream);
    return s;
  }
  bool respond(stream_ref s, bool end_stream) {
    if (!engine.begin_headers(s)) return false;
    engine.add_field(":status", "200");
    engine.end_headers(end_stream);
    return true;
  }
  // Through the queue.
  bool send_data(stream_ref s, std::string_view bytes, bool end_stream) {
    std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
    if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
    return engine.queue_data(s, std::move(copy), bytes.size(), end_stream);
  }

  time_point now{};
  connection engine;
  bool pulls_fields = true;

 private:
  void end_data() {
    if (joining_) events_.append(spelling::text(joined_)).append("\n");
    joining_ = false;
    joined_.clear();
  }
  void write_down(const event& e);
  std::string fields();

  reaction react_;
  std::string events_;
  std::string joined_;  // the bytes of the data line in work
  stream_id joined_id_ = 0;
  bool joining_ = false;
  std::vector<stream_ref> streams_;
};

inline std::string session::fields() {
  if (!pulls_fields) return {};
  std::string words = " [";
  for (field f; engine.next_field(f);)
    words.append(words.size() > 2 ? " " : "").append(f.name).append("=").append(f.value);
  return words + (engine.headers_ok() ? "]" : "] bad");
}

inline void session::write_down(const event& e) {
  using kind = event::kind;
  const std::string id = std::to_string(e.id);
  const std::string end = e.end_stream ? " end" : "";
  if (e.type == kind::data) {
    if (joining_ && joined_id_ != e.id) end_data();
    if (!joining_) events_.append("data " + id + " ");
    joining_ = true;
    joined_id_ = e.id;
    joined_.append(as_text(e.data));
    if (!e.end_stream) return;
    events_.append(spelling::text(joined_)).append(" end\n");
    joining_ = false;
    joined_.clear();
    return;
  }
  end_data();
  const std::string by = e.by == initiator::peer ? " peer" : e.by == initiator::user ? " user" : " library";
  switch (e.type) {
    case kind::headers:
      if (std::find(streams_.begin(), streams_.end(), e.stream) == streams_.end())
        streams_.push_back(e.stream);
      note((e.trailers        ? "trailers "
            : e.informational ? "informational "
                              : "headers ") +
           id + fields() + end);
      break;
    case kind::reset:
      note("reset " + id + " " + std::string(name_of(e.code)) + by + (e.unprocessed ? " unprocessed" : ""));
      break;
    case kind::writable: note("writable " + id); break;
    case kind::settings: break;  // of every conversation
    case kind::slots: note("slots"); break;
    case kind::goaway:
      note("goaway " + std::string(name_of(e.code)) + " " + spelling::text(as_text(e.data)));
      break;
    case kind::failed:
      note("failed " + std::string(name_of(e.code)) + by + ": " + std::string(e.reason));
      break;
    case kind::no_preface:
      note("no preface: " + std::to_string(engine.preface_bytes()) + " bytes of it, then " +
           spelling::text(as_text(e.data)));
      break;
    case kind::data:
    case kind::none: break;
  }
}

// A conversation: the user's first action, the input, and the user's actions upon events and at the end.
struct script {
  role side = role::server;
  std::string input;
  session::reaction react = [](session&, const event&) {};
  std::function<void(session&)> first = [](session&) {};
  std::function<void(session&)> last = [](session&) {};
  limits bounds{};
};

struct story {
  std::string events;  // a line each; without settings
  std::string frames;  // a line each; without our preface and the ack of the peer's SETTINGS
  friend bool operator==(const story&, const story&) = default;
  friend std::ostream& operator<<(std::ostream& out, const story& s) {
    return out << s.events << "---\n" << s.frames;
  }
};

// `pieces` are the lengths of all pieces but the last.
inline story play_in_pieces(const script& s, const std::vector<std::size_t>& pieces) {
  session at(s.side, s.bounds, s.react);
  s.first(at);
  std::string_view rest = s.input;
  for (const std::size_t n : pieces) {
    at.feed(rest.substr(0, n));
    rest.remove_prefix(std::min(n, rest.size()));
  }
  at.feed(rest);
  s.last(at);
  at.pump();
  std::string frames = at.take_frames();
  if (frames.starts_with("SETTINGS ack\n")) frames.erase(0, 13);
  return {at.events(), std::move(frames)};
}

// Plays it in one piece, octet by octet, and at every split into two (at about 500 of them if the input is
// long), and expects the same record every time.
inline story play(const script& s) {
  const story whole = play_in_pieces(s, {});
  EXPECT_EQ(play_in_pieces(s, std::vector<std::size_t>(s.input.size(), 1)), whole) << "octet by octet";
  const std::size_t step = std::max<std::size_t>(1, s.input.size() / 500);
  for (std::size_t at = 1; at < s.input.size(); at += step) {
    const story split = play_in_pieces(s, {at});
    if (split == whole) continue;
    ADD_FAILURE() << "split at " << at << ":\n" << split << "\nin one piece:\n" << whole;
    break;
  }
  return whole;
}

}  // namespace coracle::http2::test
