// Each limit of http2/limits.hpp by its name: a value at the limit is accepted, the next one is not.
#include "support/http2/frames.hpp"
#include "support/http2/transcript.hpp"

#include <gtest/gtest.h>
#include <functional>
#include <string>

namespace coracle::http2::limits_test {
namespace {

using namespace test;
using namespace test::frames;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

struct server : session {
  explicit server(
      const limits& l, reaction react = [](session&, const event&) {})
      : session(role::server, l, std::move(react)) {
    feed(from_client());
    take_frames();
  }
  // Returns how often `frame` is accepted before the connection fails.
  int stands(const std::function<std::string(int)>& frame, int most = 5000) {
    for (int i = 0; i < most; ++i) {
      feed(frame(i));
      engine.produce();
      engine.output().clear();
      if (engine.failed()) return i;
    }
    return most;
  }
  [[nodiscard]] bool calmed() { return events().find("failed ENHANCE_YOUR_CALM") != std::string::npos; }
};
stream_id odd(int i) { return static_cast<stream_id>(2 * i + 1); }

TEST(Http2Limits, MaxConcurrentStreams) {
  limits l;
  l.max_concurrent_streams = 3;
  server s(l);
  s.feed(request(1) + request(3) + request(5));
  EXPECT_EQ(s.take_frames(), "");
  s.feed(request(7));
  EXPECT_EQ(s.take_frames(), "RST_STREAM 7 REFUSED_STREAM\n");
}

TEST(Http2Limits, InitialWindowBytesAndConnectionWindowBytesAreAdvertised) {
  limits l;
  l.initial_window_bytes = 77777;
  l.connection_window_bytes = 100000;
  connection c(role::server, l, time_point{});
  const std::string words = spell_frames(as_text(c.output().pending()));
  EXPECT_NE(words.find("4=77777"), std::string::npos);
  EXPECT_NE(words.find("WINDOW_UPDATE 0 +34465"), std::string::npos);
}

TEST(Http2Limits, MaxFrameBytes) {
  limits l;
  l.max_frame_bytes = 20000;
  server s(l);
  s.feed(request(1) + data(1, std::string(20000, 'x')));
  EXPECT_FALSE(s.engine.failed());
  s.feed(data(1, std::string(20001, 'x')));
  EXPECT_TRUE(s.engine.failed());
}

TEST(Http2Limits, HeaderTableBytesHoldFromTheAckOn) {
  limits l;
  l.header_table_bytes = 100;
  const std::string update_to_100 = std::string("\x3f\x45", 2) + request_block();
  const std::string update_to_101 = std::string("\x3f\x46", 2) + request_block();
  EXPECT_EQ(play({.input = from_client() + headers(1, update_to_100, end_both), .bounds = l}).frames, "");
  EXPECT_NE(play({.input = from_client() + headers(1, update_to_101, end_both), .bounds = l}).frames, "");
  const std::string unacked = std::string(client_preface) + settings();
  EXPECT_EQ(play({.input = unacked + headers(1, update_to_101, end_both), .bounds = l}).frames, "");
}

TEST(Http2Limits, HeaderListBytesFailTheStreamAndKeepTheTable) {
  limits l;
  l.header_list_bytes = 500;
  // Adds an entry of 200 octets to the table, followed by four references to it.
  const std::string entry = std::string(
                                "\x40\x01"
                                "a\x7f\x49",
                                5) +
                            std::string(200, 'x');
  const std::string bomb = request_block() + entry + "\xbe\xbe\xbe\xbe";
  const std::string small = request_block() + "\xbe";
  const story s =
      play({.input = from_client() + headers(1, bomb, end_both) + headers(3, small, end_both), .bounds = l});
  EXPECT_EQ(s.frames, "RST_STREAM 1 ENHANCE_YOUR_CALM\n");
  EXPECT_NE(s.events.find("bad end\nreset 1 ENHANCE_YOUR_CALM library\nheaders 3 ["), std::string::npos)
      << s.events;
  EXPECT_TRUE(s.events.ends_with(" a=" + std::string(200, 'x') + "] end\n"));
}

TEST(Http2Limits, HeaderBlockBytes) {
  limits l;
  l.header_block_bytes = 100;
  const std::string block = request_block() + std::string(
                                                  "\x00\x01"
                                                  "a\x7f",
                                                  4);
  const std::string padded_block = block + '\x00' + std::string(127, 'x');
  EXPECT_EQ(play({.input = from_client() + headers(1, padded_block), .bounds = l}).frames,
            "GOAWAY 0 ENHANCE_YOUR_CALM 'header block exceeds limits::header_block_bytes'\n");
  EXPECT_EQ(play({.input = from_client() + headers(1, padded_block.substr(0, 60), 0) +
                           continuation(1, padded_block.substr(60)),
                  .bounds = l})
                .frames,
            "GOAWAY 0 ENHANCE_YOUR_CALM 'header block exceeds limits::header_block_bytes'\n");
  l.header_block_bytes = static_cast<std::uint32_t>(padded_block.size());
  EXPECT_EQ(play({.input = from_client() + headers(1, padded_block), .bounds = l}).frames, "");
}

// A client with two requests, and the events that a large trailer block on the first one causes.
struct client_with_large_trailers : session {
  explicit client_with_large_trailers(const limits& l, reaction react)
      : session(role::client, l, std::move(react)) {
    feed(from_server());
    open_and_request(true);
    open_and_request(true);
    take_frames();
    feed(headers(1, response_block()) + headers(3, response_block()));
  }
};

std::string large_trailers(std::size_t bytes) {
  const std::string large(bytes, 'x');
  return block({{"a", "1"}, {"large", large}, {"b", "2"}});
}

TEST(Http2Limits, HeaderListBytesOfAResponseFailItsStreamUnlessTheExcessIsRead) {
  limits l;
  l.header_list_bytes = 500;
  const auto ignore = [](session&, const event&) {};
  client_with_large_trailers ignoring(l, ignore);
  ignoring.feed(headers(1, large_trailers(1000), end_both) + headers(3, block({{"c", "3"}}), end_both));
  EXPECT_EQ(ignoring.events(),
            "headers 1 [:status=200]\nheaders 3 [:status=200]\ntrailers 1 [a=1] bad end\n"
            "reset 1 ENHANCE_YOUR_CALM library\ntrailers 3 [c=3] end\n");

  const auto read_all = [](session& s, const event& e) {
    if (!e.trailers) return;
    field f;
    while (s.engine.next_field(f)) s.note("field " + std::string(f.name));
    s.note(s.engine.headers_too_large() ? "too large" : "whole");
    while (s.engine.next_excess_field(f))
      s.note("excess " + std::string(f.name) + " " + std::to_string(f.value.size()));
    s.note("ok " + std::to_string(s.engine.headers_ok()) + " " +
           std::to_string(s.engine.header_list_bytes()));
  };
  client_with_large_trailers reading(l, read_all);
  reading.pulls_fields = false;
  reading.feed(headers(1, large_trailers(1000), end_both) + headers(3, block({{"c", "3"}}), end_both));
  EXPECT_EQ(reading.events(),
            "headers 1 [:status=200]\nheaders 3 [:status=200]\n"
            "trailers 1 end\nfield a\ntoo large\nexcess large 1000\nexcess b 1\nok 1 1105\n"
            "trailers 3 end\nfield c\nwhole\nok 1 34\n");
  EXPECT_EQ(reading.take_frames(), "");
}

TEST(Http2Limits, AResponseThatIsReleasedAmongItsExcessKeepsTheTable) {
  limits l;
  l.header_list_bytes = 500;
  const auto leave = [](session& s, const event& e) {
    if (e.id != 1) return;
    field f;
    while (s.engine.next_field(f)) continue;
    s.engine.next_excess_field(f);
    s.engine.release(e.stream);
  };
  session s(role::client, l, leave);
  s.pulls_fields = false;
  s.feed(from_server());
  s.open_and_request(false);
  s.open_and_request(true);
  s.take_frames();
  const std::string entering = std::string(
      "\x40\x01"
      "d\x01"
      "4",
      5);
  s.feed(headers(1, response_block() + large_trailers(1000) + entering));
  EXPECT_EQ(s.take_frames(), "RST_STREAM 1 CANCEL\n");
  s.pulls_fields = true;
  s.feed(headers(3, response_block() + "\xbe"));
  EXPECT_TRUE(s.events().ends_with("headers 3 [:status=200 d=4]\n")) << s.events();
}

TEST(Http2Limits, HeaderBlockBytesOfAResponseEndItsStreamByItself) {
  limits l;
  l.header_block_bytes = 2000;
  const auto which = [](session& s, const event& e) {
    if (e.type == event::kind::reset) s.note(e.with_connection ? "with the connection" : "by itself");
  };
  client_with_large_trailers s(l, which);
  s.feed(headers(1, large_trailers(3000), end_both));
  EXPECT_EQ(s.events(),
            "headers 1 [:status=200]\nheaders 3 [:status=200]\n"
            "reset 1 ENHANCE_YOUR_CALM library\nby itself\n"
            "reset 3 ENHANCE_YOUR_CALM library\nwith the connection\n"
            "failed ENHANCE_YOUR_CALM library: header block exceeds limits::header_block_bytes\n");
}

TEST(Http2Limits, AStringOfAnyLengthWithinTheBlockIsNoError) {
  limits l;
  l.header_block_bytes = response_block_bytes_max;
  l.continuations = response_continuations_max;
  const auto ignore = [](session&, const event&) {};
  client_with_large_trailers s(l, ignore);
  // In Huffman's code, 'a' has 5 bits: 900,000 octets are 1,440,000 characters.
  std::string rest = block({{"large", std::string(1'440'000, 'a')}});
  ASSERT_LT(rest.size(), 910'000u);
  std::string frames = headers(1, rest.substr(0, 16384), end);
  for (rest.erase(0, 16384); rest.size() > 16384; rest.erase(0, 16384))
    frames += continuation(1, rest.substr(0, 16384), 0);
  const std::size_t before = s.engine.memory_bytes();
  s.feed(frames + continuation(1, rest) + headers(3, block({{"c", "3"}}), end_both));
  EXPECT_TRUE(
      s.events().ends_with("trailers 1 [] bad end\nreset 1 ENHANCE_YOUR_CALM library\n"
                           "trailers 3 [c=3] end\n"))
      << s.events();
  EXPECT_LT(s.engine.memory_bytes(), before + (64u << 10)) << "the buffers of the block are freed";
}

TEST(Http2Limits, Continuations) {
  limits l;
  l.continuations = 3;
  const auto spread = [&](int frames) {
    std::string input = from_client() + headers(1, request_block(), end);
    for (int i = 1; i < frames; ++i) input += continuation(1, "\x82", 0);
    return play({.input = input + continuation(1, ""), .bounds = l}).frames;
  };
  EXPECT_EQ(spread(3), "RST_STREAM 1 PROTOCOL_ERROR\n") << "two methods, but no flood";
  EXPECT_EQ(
      spread(4),
      "GOAWAY 0 ENHANCE_YOUR_CALM 'CONTINUATION frames of a header block exceed limits::continuations'\n");
}

TEST(Http2Limits, InterimResponses) {
  limits l;
  l.interim_responses = 3;
  const std::string interim = block({{":status", "103"}, {"link", "x"}});
  session s(role::client, l, [](session&, const event&) {});
  s.feed(from_server());
  s.open_and_request(false);
  s.open_and_request(false);
  s.take_frames();
  for (int i = 0; i < 3; ++i) s.feed(headers(1, interim) + headers(3, interim));
  EXPECT_EQ(s.take_frames(), "");
  // The block of the refused stream is still part of the compression context: it inserts the field that the
  // next block references.
  const std::string entering = interim + std::string(
                                             "\x40\x01"
                                             "a\x01"
                                             "b",
                                             5);
  s.feed(headers(1, entering) + headers(3, response_block() + "\xbe"));
  EXPECT_EQ(s.take_frames(), "RST_STREAM 1 ENHANCE_YOUR_CALM\n");
  EXPECT_TRUE(s.events().ends_with("reset 1 ENHANCE_YOUR_CALM library\nheaders 3 [:status=200 a=b]\n"))
      << s.events();
  s.feed(headers(1, interim));
  EXPECT_FALSE(s.engine.failed()) << "those that were under way are dropped";
}

TEST(Http2Limits, OwnStreams) {
  limits l;
  l.own_streams = 3;
  session s(role::client, l, [](session&, const event&) {});
  s.engine.release(s.open_and_request(true));
  EXPECT_NE(s.open(), no_stream);
  EXPECT_NE(s.open(), no_stream);
  EXPECT_EQ(s.open(), no_stream);
  EXPECT_FALSE(s.engine.can_open());
}

TEST(Http2Limits, TheHighestStreamIdIsTheLast) {
  const story s = play({.input = from_client() + request(0x7fffffff, end_both) + request(1, end_both)});
  EXPECT_EQ(s.frames,
            "GOAWAY 2147483647 PROTOCOL_ERROR 'HEADERS on stream 1 in state closed (RFC 9113 5.1)'\n");
}

// --- floods. A bucket gives its burst at once and its rate afterwards.

TEST(Http2Limits, ResetsBurstAgainstRapidReset) {
  limits l;
  l.resets_burst = 20;
  const auto rapid = [](int i) { return request(odd(i)) + rst_stream(odd(i), error_code::cancel); };
  server s(l, [](session& at, const event& e) {
    if (e.type == event::kind::reset) at.engine.release(e.stream);
  });
  EXPECT_EQ(s.stands(rapid), 20);
  EXPECT_TRUE(s.calmed());
}

// Ten resets per second match the rate of a bucket of 20, whether it counts all resets or only early ones.
void expect_ten_resets_a_second(const limits& l) {
  int next = 0;
  const auto rapid = [&](int) {
    const stream_id id = odd(next++);
    return request(id) + rst_stream(id, error_code::cancel);
  };
  server s(l, [](session& at, const event& e) {
    if (e.type == event::kind::reset) at.engine.release(e.stream);
  });
  for (int i = 0; i < 300; ++i) {
    s.now += 100ms;
    s.feed(rapid(i));
  }
  EXPECT_FALSE(s.engine.failed());
  s.now += 1s;
  EXPECT_EQ(s.stands(rapid), 20) << "the bucket was full again, and holds no more than the burst";
}

TEST(Http2Limits, ResetsPerSecond) {
  limits l;
  l.resets_burst = 20;
  l.resets_per_second = 10;
  expect_ten_resets_a_second(l);
}

TEST(Http2Limits, EarlyResetsBurst) {
  limits l;
  l.early_resets_burst = 20;
  const auto rapid = [](int i) { return request(odd(i)) + rst_stream(odd(i), error_code::cancel); };
  const auto mistaken = [](int i) { return request(odd(i)) + window_update(odd(i), 0); };
  const auto release = [](session& at, const event& e) {
    if (e.type == event::kind::reset) at.engine.release(e.stream);
  };
  for (const std::function<std::string(int)>& early : {std::function<std::string(int)>(rapid), {mistaken}}) {
    server s(l, release);
    EXPECT_EQ(s.stands(early), 20);
    EXPECT_TRUE(s.calmed());
  }
  l.resets_per_second = 1000;
  server later(l, release);
  for (int i = 0; i < 500; ++i) {
    later.feed(request(odd(i)));
    later.now += 1ms;
    later.feed(rst_stream(odd(i), error_code::cancel));
  }
  EXPECT_FALSE(later.engine.failed()) << "in a turn of its own a reset is not early";
}

TEST(Http2Limits, EarlyResetsPerSecond) {
  limits l;
  l.early_resets_burst = 20;
  l.early_resets_per_second = 10;
  expect_ten_resets_a_second(l);
}

TEST(Http2Limits, RefusedStreamsAreNoEarlyResets) {
  limits l;
  l.early_resets_burst = 1;
  l.max_concurrent_streams = 0;
  EXPECT_EQ(server(l).stands([](int i) { return request(odd(i)); }, 500), 500);
}

TEST(Http2Limits, ResetsBurstAgainstResetsThatThePeerProvokes) {
  limits l;
  l.resets_burst = 20;
  const std::function<std::string(int)> provocations[] = {
      [](int i) { return request(odd(i)) + window_update(odd(i), 0); },
      [](int i) { return request(odd(i)) + window_update(odd(i), 0x7fffffff); },
      [](int i) { return request(odd(i), end_both) + data(odd(i), "x"); },
      [](int i) { return request(odd(i), end_both) + request(odd(i), end_both); },
      [](int i) { return request(odd(i)) + priority(odd(i), odd(i)); },
      [](int i) { return headers(odd(i), block({{":path", "/"}}), end_both); },
  };
  for (const auto& provoke : provocations) {
    server s(l, [](session& at, const event& e) {
      if (e.type == event::kind::reset) at.engine.release(e.stream);
    });
    EXPECT_EQ(s.stands(provoke), 20);
    EXPECT_TRUE(s.calmed());
  }
}

TEST(Http2Limits, ResetsBurstAgainstStreamsAboveTheLimit) {
  limits l;
  l.resets_burst = 20;
  l.max_concurrent_streams = 0;
  EXPECT_EQ(server(l).stands([](int i) { return request(odd(i)); }), 20);
}

TEST(Http2Limits, ResetsOfAnsweredStreamsCostNothing) {
  limits l;
  l.resets_burst = 1;
  l.control_frames_burst = 5;
  server s(l, [](session& at, const event& e) {
    if (e.type == event::kind::headers) at.respond(e.stream, true);
    if (e.type == event::kind::reset) at.engine.release(e.stream);
  });
  EXPECT_EQ(s.stands([](int i) { return request(odd(i)) + rst_stream(odd(i), error_code::no_error); }, 500),
            500);
}

TEST(Http2Limits, PingsThatOurDataCallsForthAreFree) {
  limits l;
  l.control_frames_burst = 5;
  session s(role::client, l, [](session&, const event&) {});
  s.feed(from_server());
  ASSERT_NE(s.open_and_request(false), no_stream);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(s.send_data(s.stream(), "x", false));
    s.take_frames();
    s.feed(ping("how long") + window_update(0, 1));
  }
  EXPECT_FALSE(s.engine.failed());
  int more = 0;
  for (; !s.engine.failed() && more < 1000; ++more) {
    s.feed(ping("how long"));
    s.take_frames();
  }
  EXPECT_LE(more, 120) << "and few more";
}

TEST(Http2Limits, ServersMayResetAsTheyLike) {
  limits l;
  l.resets_burst = 1;
  session s(role::client, l, [](session& at, const event& e) {
    if (e.type == event::kind::reset) at.engine.release(e.stream);
  });
  s.feed(from_server());
  for (int i = 0; i < 500; ++i) {
    ASSERT_NE(s.open_and_request(true), no_stream);
    s.feed(rst_stream(odd(i), error_code::refused_stream));
    s.engine.output().clear();
  }
  EXPECT_FALSE(s.engine.failed());
}

TEST(Http2Limits, ControlFramesBurst) {
  limits l;
  l.control_frames_burst = 51;  // one goes to the client's first SETTINGS
  const std::function<std::string(int)> floods[] = {
      [](int) { return settings(); },
      [](int) { return settings_ack(); },
      [](int) { return ping("12345678"); },
      [](int) { return ping("12345678", true); },
      [](int) { return priority(1, 3); },
      [](int) { return window_update(0, 1); },
      [](int) { return goaway(0, error_code::no_error); },
      [](int) { return raw(static_cast<frame_type>(99), 0, 0, "x"); },
  };
  for (const auto& flood : floods) {
    server s(l);
    EXPECT_EQ(s.stands(flood), 50);
    EXPECT_TRUE(s.calmed());
  }
}

TEST(Http2Limits, ControlFramesPerSecond) {
  limits l;
  l.control_frames_burst = 10;
  l.control_frames_per_second = 10;
  server s(l);
  for (int i = 0; i < 200; ++i) {
    s.now += 100ms;
    s.feed(ping("12345678"));
  }
  EXPECT_FALSE(s.engine.failed());
}

TEST(Http2Limits, WindowUpdatesForOurDataCostNothing) {
  limits l;
  l.control_frames_burst = 5;
  server s(l, [](session& at, const event& e) {
    if (e.type != event::kind::headers) return;
    at.respond(e.stream, false);
    at.send_data(e.stream, "abc", true);
    at.engine.release(e.stream);
  });
  const auto call = [](int i) { return request(odd(i), end_both); };
  const auto call_and_updates = [&](int i) {
    return call(i) + (i == 0 ? "" : window_update(odd(i - 1), 3) + window_update(0, 3));
  };
  EXPECT_EQ(s.stands(call_and_updates, 500), 500);
}

TEST(Http2Limits, StragglersAfterOurResetsCostNothing) {
  limits l;
  l.control_frames_burst = 5;
  server s(l, [](session& at, const event& e) {
    at.engine.reset(e.stream, error_code::cancel);
    at.engine.release(e.stream);
  });
  EXPECT_EQ(s.stands([](int i) { return request(odd(i)) + data(odd(i), "x") + trailers(odd(i)); }, 500), 500);
}

TEST(Http2Limits, BlocksOnClosedStreamsAreNotFreeForEver) {
  limits l;
  l.control_frames_burst = 11;
  server s(l);
  s.feed(request(1));
  s.engine.reset(s.stream(), error_code::cancel);
  EXPECT_EQ(s.stands([](int) { return trailers(1); }), 14);
  EXPECT_TRUE(s.calmed());
}

TEST(Http2Limits, EmptyFramesBurst) {
  limits l;
  l.empty_frames_burst = 20;
  server with_data(l);
  with_data.feed(request(1));
  EXPECT_EQ(with_data.stands([](int) { return data(1, ""); }), 20);
  EXPECT_TRUE(with_data.calmed());
  server with_padding(l);
  with_padding.feed(request(1));
  EXPECT_EQ(with_padding.stands([](int) { return data(1, padded("", 9), flag::padded); }), 20);
  l.continuations = 100;
  server with_continuation(l);
  with_continuation.feed(headers(1, request_block(), 0));
  EXPECT_EQ(with_continuation.stands([](int) { return continuation(1, "", 0); }), 20);
  server with_headers(l);
  EXPECT_EQ(with_headers.stands([](int i) {
    return headers(odd(i), "", 0) + continuation(odd(i), request_block(), end_headers);
  }),
            20);
}

TEST(Http2Limits, EmptyFramesPerSecond) {
  limits l;
  l.empty_frames_burst = 5;
  l.empty_frames_per_second = 10;
  server s(l);
  s.feed(request(1));
  for (int i = 0; i < 100; ++i) {
    s.now += 100ms;
    s.feed(data(1, ""));
  }
  EXPECT_FALSE(s.engine.failed());
}

TEST(Http2Limits, OutputBytesBoundUnreadAnswers) {
  limits l;
  l.output_bytes = 170;
  server s(l);
  for (int i = 0; i < 10; ++i) s.feed(ping("12345678"));
  EXPECT_FALSE(s.engine.failed());
  s.feed(ping("12345678"));
  EXPECT_TRUE(s.engine.failed());
  server read(l);
  EXPECT_EQ(read.stands([](int) { return ping("12345678"); }, 900), 900);
}

TEST(Http2Limits, SettingsTimeout) {
  limits l;
  l.settings_timeout = 3s;
  session s(role::server, l, [](session&, const event&) {});
  s.feed(std::string(client_preface) + settings() + request(1));
  s.take_frames();
  EXPECT_EQ(s.engine.next_timeout(), time_point{} + 3s);
  s.engine.on_timeout(time_point{} + 3s - 1ms);
  EXPECT_FALSE(s.engine.failed());
  s.engine.on_timeout(time_point{} + 3s);
  s.pump();
  EXPECT_EQ(s.take_frames(),
            "GOAWAY 1 SETTINGS_TIMEOUT 'SETTINGS were not acknowledged in time (RFC 9113 6.5.3)'\n");
  EXPECT_TRUE(
      s.events().ends_with("reset 1 SETTINGS_TIMEOUT library\nfailed SETTINGS_TIMEOUT library: SETTINGS were "
                           "not acknowledged in time (RFC 9113 6.5.3)\n"));
  server acked(l);
  EXPECT_EQ(acked.engine.next_timeout(), never);
}

TEST(Http2Limits, HeaderTimeout) {
  limits l;
  l.header_timeout = 3s;
  const std::string beginnings[] = {headers(1, request_block(), 0), request(1).substr(0, 5),
                                    request(1).substr(0, 15), settings().substr(0, 8)};
  for (const std::string& begun : beginnings) {
    server s(l);
    s.feed(begun);
    EXPECT_EQ(s.engine.next_timeout(), time_point{} + 3s);
    s.engine.on_timeout(time_point{} + 3s);
    EXPECT_EQ(
        s.take_frames(),
        "GOAWAY 0 ENHANCE_YOUR_CALM 'incomplete frame or header block exceeds limits::header_timeout'\n");
  }
}

TEST(Http2Limits, HeaderTimeoutIsNotMovedByContinuations) {
  limits l;
  l.header_timeout = 3s;
  server s(l);
  s.feed(headers(1, request_block(), 0));
  s.now += 2s;
  s.feed(continuation(1, "\x82", 0));
  EXPECT_EQ(s.engine.next_timeout(), time_point{} + 3s);
}

TEST(Http2Limits, HeaderTimeoutBeginsAnewWithEachFrame) {
  limits l;
  l.header_timeout = 3s;
  server s(l);
  s.feed(request(1).substr(0, 5));
  for (int i = 0; i < 10; ++i) {
    s.now += 2s;
    s.feed(request(odd(i)).substr(5) + request(odd(i + 1)).substr(0, 5));
  }
  EXPECT_EQ(s.engine.next_timeout(), s.now + 3s);
  s.feed(request(odd(10)).substr(5) + data(odd(10), "abc").substr(0, 10));
  EXPECT_EQ(s.engine.next_timeout(), never) << "DATA may take its time";
}

TEST(Http2Limits, DrainTimeout) {
  limits l;
  l.drain_timeout = 2s;
  server s(l);
  s.feed(request(1));
  s.engine.drain();
  s.take_frames();
  EXPECT_EQ(s.engine.next_timeout(), time_point{} + 2s);
  s.engine.on_timeout(time_point{} + 2s);
  EXPECT_EQ(s.take_frames(), "GOAWAY 1 NO_ERROR\n");
  EXPECT_EQ(s.engine.next_timeout(), never);
}

}  // namespace
}  // namespace coracle::http2::limits_test
