// Every pair of a stream's state and an input: in the table, and through an engine.
#include "http2/stream_state.hpp"
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http2::stream_state_test {
namespace {

using namespace test;
using namespace test::frames;
using enum stream_state;

const char* const input_names[] = {"HEADERS",         "HEADERS end",       "DATA",         "DATA end",
                                   "PRIORITY",        "RST_STREAM",        "PUSH_PROMISE", "WINDOW_UPDATE",
                                   "send HEADERS",    "send HEADERS end",  "send DATA",    "send DATA end",
                                   "send RST_STREAM", "send WINDOW_UPDATE"};

// The rules of RFC 9113 5.1 as text: the next state, or !code for a stream error, !!code for a connection
// error, "-" for no effect, "x" for an action that we cannot take.
struct expectation {
  stream_state state;
  std::array<std::string_view, stream_input_count> outcomes;
};
const expectation expectations[] = {
    {idle,
     {"open", "half remote", "!!PROTOCOL_ERROR", "!!PROTOCOL_ERROR", "-", "!!PROTOCOL_ERROR",
      "!!PROTOCOL_ERROR", "!!PROTOCOL_ERROR", "open", "half local", "x", "x", "x", "x"}},
    {open,
     {"open", "half remote", "open", "half remote", "-", "reset received", "!!PROTOCOL_ERROR", "open", "open",
      "half local", "open", "half local", "reset sent", "open"}},
    {half_closed_local,
     {"half local", "ended", "half local", "ended", "-", "reset received", "!!PROTOCOL_ERROR", "half local",
      "x", "x", "x", "x", "reset sent", "half local"}},
    {half_closed_remote,
     {"!STREAM_CLOSED", "!STREAM_CLOSED", "!STREAM_CLOSED", "!STREAM_CLOSED", "-", "reset received",
      "!!PROTOCOL_ERROR", "half remote", "half remote", "ended", "half remote", "ended", "reset sent", "x"}},
    {ended,
     {"!!STREAM_CLOSED", "!!STREAM_CLOSED", "!!STREAM_CLOSED", "!!STREAM_CLOSED", "-", "- reset received",
      "!!PROTOCOL_ERROR", "-", "x", "x", "x", "x", "x", "x"}},
    {reset_sent,
     {"-", "-", "-", "-", "-", "- reset received", "!!PROTOCOL_ERROR", "-", "x", "x", "x", "x", "x", "x"}},
    {reset_received,
     {"!STREAM_CLOSED", "!STREAM_CLOSED", "!STREAM_CLOSED", "!STREAM_CLOSED", "-", "-", "!!PROTOCOL_ERROR",
      "-", "x", "x", "x", "x", "x", "x"}},
    {forgotten, {"-", "-", "-", "-", "-", "-", "!!PROTOCOL_ERROR", "-", "x", "x", "x", "x", "x", "x"}},
    {skipped,
     {"!!PROTOCOL_ERROR", "!!PROTOCOL_ERROR", "!!PROTOCOL_ERROR", "!!PROTOCOL_ERROR", "-", "-",
      "!!PROTOCOL_ERROR", "-", "x", "x", "x", "x", "x", "x"}},
};

std::string name_of_state(stream_state s) {
  constexpr const char* names[] = {"idle",       "open",           "half local", "half remote", "ended",
                                   "reset sent", "reset received", "forgotten",  "skipped"};
  return names[static_cast<std::size_t>(s)];
}

TEST(Http2StreamStateTable, EveryPairOfStateAndInputIsAsTheStandardHasIt) {
  ASSERT_EQ(std::size(expectations), stream_state_count);
  for (const expectation& row : expectations) {
    for (std::size_t i = 0; i < stream_input_count; ++i) {
      const transition& t = transition_of(row.state, static_cast<stream_input>(i));
      std::string outcome;
      switch (t.verdict) {
        case stream_verdict::take: outcome = name_of_state(t.next); break;
        case stream_verdict::drop: outcome = t.next == row.state ? "-" : "- " + name_of_state(t.next); break;
        case stream_verdict::stream_error: outcome = "!" + std::string(name_of(t.code)); break;
        case stream_verdict::connection_error: outcome = "!!" + std::string(name_of(t.code)); break;
        case stream_verdict::misuse: outcome = "x"; break;
      }
      EXPECT_EQ(outcome, row.outcomes[i]) << name_of_state(row.state) << ", " << input_names[i];
    }
  }
}

// --- the same through an engine in the role of a server; stream 3 is brought into each state

struct way_to_state {
  stream_state state;
  std::string input;
  std::function<void(session&)> then;
};

std::vector<way_to_state> ways() {
  const auto nothing = [](session&) {};
  return {
      {idle, "", nothing},
      {open, request(3), nothing},
      {half_closed_local, request(3), [](session& s) { s.respond(s.stream(), true); }},
      {half_closed_remote, request(3, end_both), nothing},
      {ended, request(3, end_both), [](session& s) { s.respond(s.stream(), true); }},
      {reset_sent, request(3), [](session& s) { s.engine.reset(s.stream(), error_code::cancel); }},
      {reset_received, request(3) + rst_stream(3, error_code::cancel), nothing},
      // Stream 3 is closed as well, and then as many streams as are remembered; 259 shares its slot.
      {forgotten,
       request(3) + rst_stream(3, error_code::cancel) + request(259) + rst_stream(259, error_code::cancel),
       nothing},
      {skipped, request(5), nothing},
  };
}

std::string frame_of(stream_input i) {
  switch (i) {
    // On an open stream of a server, a second block is trailers, which end the stream.
    case stream_input::receive_headers:
    case stream_input::receive_headers_end: return request(3, end_both);
    case stream_input::receive_data: return data(3, "x");
    case stream_input::receive_data_end: return data(3, "x", end);
    case stream_input::receive_priority: return priority(3, 1);
    case stream_input::receive_reset: return rst_stream(3, error_code::cancel);
    case stream_input::receive_push_promise: return raw(frame_type::push_promise, end_headers, 3, u32(4));
    case stream_input::receive_window_update: return window_update(3, 1);
    default: return {};
  }
}

TEST(Http2StreamStateTable, AnEngineDoesWhatTheTableSays) {
  for (const way_to_state& way : ways()) {
    for (std::size_t i = 0; i <= static_cast<std::size_t>(stream_input::receive_window_update); ++i) {
      const auto input = static_cast<stream_input>(i);
      SCOPED_TRACE(name_of_state(way.state) + ", " + input_names[i]);
      session s(role::server, {}, [](session&, const event&) {});
      s.feed(from_client() + way.input);
      way.then(s);
      s.take_frames();
      s.feed(frame_of(input));
      const std::string frames = s.take_frames();
      const transition& t = transition_of(way.state, input);
      // The block of a request on an open stream is malformed as trailers; the state machine decides first.
      const bool malformed =
          t.verdict == stream_verdict::take && way.state != idle &&
          (input == stream_input::receive_headers || input == stream_input::receive_headers_end);
      if (t.verdict == stream_verdict::connection_error) {
        EXPECT_TRUE(s.engine.failed());
        EXPECT_NE(frames.find("GOAWAY"), std::string::npos);
        EXPECT_NE(frames.find(name_of(t.code)), std::string::npos) << frames;
      } else {
        EXPECT_FALSE(s.engine.failed());
        if (t.verdict == stream_verdict::stream_error) {
          EXPECT_EQ(frames, "RST_STREAM 3 " + std::string(name_of(t.code)) + "\n");
        } else if (malformed) {
          EXPECT_TRUE(way.state == open ? frames == "RST_STREAM 3 PROTOCOL_ERROR\n" : frames.empty())
              << frames;
        } else {
          EXPECT_EQ(frames, "");
        }
      }
    }
  }
}

TEST(Http2StreamStateTable, AUserSendsOnlyWhereTheTableLetsIt) {
  for (const way_to_state& way : ways()) {
    if (way.state == idle || way.state == forgotten || way.state == skipped) continue;  // no stream to name
    SCOPED_TRACE(name_of_state(way.state));
    const auto fresh = [&](auto act) {
      session s(role::server, {}, [](session&, const event&) {});
      s.feed(from_client() + way.input);
      way.then(s);
      s.take_frames();
      return act(s);
    };
    const auto taken = [&](stream_input i) {
      return transition_of(way.state, i).verdict == stream_verdict::take;
    };
    EXPECT_EQ(fresh([](session& s) { return s.engine.can_send(s.stream()); }),
              taken(stream_input::send_headers));
    EXPECT_EQ(fresh([](session& s) { return s.respond(s.stream(), false); }),
              taken(stream_input::send_headers));
    EXPECT_EQ(fresh([](session& s) { return s.respond(s.stream(), true); }),
              taken(stream_input::send_headers_end));
    EXPECT_EQ(fresh([](session& s) {
                s.respond(s.stream(), false);
                return s.engine.reserve_data(s.stream(), 1) != nullptr;
              }),
              taken(stream_input::send_data));
    EXPECT_EQ(fresh([](session& s) {
                s.respond(s.stream(), false);
                return s.send_data(s.stream(), "x", true);
              }),
              taken(stream_input::send_data_end));
    EXPECT_EQ(fresh([](session& s) {
                s.engine.reset(s.stream(), error_code::cancel);
                return s.take_frames() == "RST_STREAM 3 CANCEL\n";
              }),
              taken(stream_input::send_reset));
  }
}

}  // namespace
}  // namespace coracle::http2::stream_state_test
