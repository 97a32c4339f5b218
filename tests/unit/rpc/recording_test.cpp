// recording: what the sites of events write is what a recording tells, and damaged recordings are refused.
#include "coracle/rpc/recorder.hpp"

#include "base/event_ring.hpp"
#include "base/recording_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace coracle {
namespace {

using base::event_ring;
using base::method_names;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::int64_t wall_offset_ns = 1'700'000'000'000'000'000;
constexpr std::uint8_t data = 0, headers = 1, rst_stream = 3, goaway = 7, end_stream = 1, end_headers = 4;

time_point at(duration d) { return time_point(d); }
wall_time wall(duration d) { return wall_time(std::chrono::nanoseconds(wall_offset_ns) + d); }

std::array<std::uint8_t, 9> wire(std::uint32_t length, std::uint8_t type, std::uint8_t flags,
                                 std::uint32_t id) {
  return {static_cast<std::uint8_t>(length >> 16),
          static_cast<std::uint8_t>(length >> 8),
          static_cast<std::uint8_t>(length),
          type,
          flags,
          static_cast<std::uint8_t>(id >> 24),
          static_cast<std::uint8_t>(id >> 16),
          static_cast<std::uint8_t>(id >> 8),
          static_cast<std::uint8_t>(id)};
}

std::string file_of(const event_ring& ring) {
  const base::recorded_ring one{nullptr, 3, wall_offset_ns, ring.read()};
  std::string bytes;
  const base::recording_sink sink{[](void* to, const void* from, std::size_t n) noexcept {
                                    static_cast<std::string*>(to)->append(static_cast<const char*>(from), n);
                                    return true;
                                  },
                                  &bytes};
  EXPECT_TRUE(base::write_recording(sink, {&one, 1}, {4711, 6, wall_offset_ns}));
  return bytes;
}

recording recording_of(const event_ring& ring) {
  auto parsed = recording::parse(file_of(ring));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(*parsed);
}

// A unary call of a server, from its request to its reply.
void write_server_call(event_ring& ring, const base::recorded_connection& c, std::uint32_t id) {
  c.frame_received(wire(57, headers, end_headers, id).data());
  ring.call_began(c.number(), 0, method_names::of_server("/p.S/Echo"));
  c.frame_received(wire(105, data, end_stream, id).data());
  ring.reply_sent(c.number(), id, 11, 106, 2);
}

TEST(Recording, TellsWhoWroteItAndWhen) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const recording r = recording_of(ring);
  EXPECT_EQ(r.signal(), 6);
  EXPECT_EQ(r.written(), wall(0s));
  EXPECT_EQ(r.process(), 4711u);
  EXPECT_TRUE(r.events().empty());
}

TEST(Recording, AServersCallIsItsFramesItsBeginAndItsEnd) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  ring.set_time(at(5ms));
  write_server_call(ring, c, 7);
  const recording r = recording_of(ring);
  ASSERT_EQ(r.events().size(), 7u);
  const recorded_event& request = r.events()[0];
  EXPECT_EQ(request.kind, recorded_kind::frame);
  EXPECT_EQ(request.frame_type, headers);
  EXPECT_EQ(request.frame_flags, end_headers);
  EXPECT_EQ(request.length, 57u);
  EXPECT_EQ(request.stream, 7u);
  EXPECT_EQ(request.connection, c.number());
  EXPECT_EQ(request.loop, 3u);
  EXPECT_FALSE(request.sent);
  EXPECT_EQ(request.when, wall(5ms));
  EXPECT_EQ(request.method, "/p.S/Echo");
  EXPECT_EQ(r.events()[1].kind, recorded_kind::call_began);
  EXPECT_EQ(r.events()[2].length, 105u);
  EXPECT_EQ(r.events()[3].length, 11u);
  EXPECT_TRUE(r.events()[3].sent);
  EXPECT_EQ(r.events()[4].length, 106u);
  EXPECT_EQ(r.events()[5].frame_flags, end_headers | end_stream);
  EXPECT_EQ(r.events()[6].kind, recorded_kind::call_ended);
  EXPECT_EQ(r.events()[6].status, status_code::ok);
}

TEST(Recording, CallsHaveTheirEventsAndTheirDuration) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  ring.set_time(at(1s));
  c.frame_received(wire(57, headers, end_headers, 1).data());
  ring.call_began(c.number(), 0, method_names::of_server("/p.S/Slow"));
  ring.call_deadline(c.number(), 1, 250ms);
  ring.set_time(at(1s + 5ms));
  write_server_call(ring, c, 3);
  ring.set_time(at(1s + 300ms));
  ring.call_ended(c.number(), 1, static_cast<std::uint8_t>(status_code::deadline_exceeded));
  const recording r = recording_of(ring);
  const std::vector<recorded_call> calls = r.calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].method, "/p.S/Slow");
  EXPECT_EQ(calls[0].status, status_code::deadline_exceeded);
  EXPECT_EQ(calls[0].took, 300ms);
  EXPECT_EQ(r.events()[calls[0].events[1]].time, 250ms);
  EXPECT_EQ(calls[1].method, "/p.S/Echo");
  EXPECT_EQ(calls[1].events.size(), 7u);
  EXPECT_TRUE(calls[1].ended);
  EXPECT_FALSE(calls[1].client);
}

TEST(Recording, AClientsCallKeepsItsAttemptsTogether) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  const std::uint32_t number = ring.next_call();
  ring.set_time(at(1s));
  ring.call_queued(number, ring.name_of("/p.S/Get"));
  ring.set_time(at(2s));
  for (std::uint32_t attempt = 0; attempt < 2; ++attempt) {
    ring.frame_sent(c.number(), headers, end_headers, 2 * attempt + 1, 40);
    ring.attempt_began(c.number(), 0, number, ring.name_of("/p.S/Get"), attempt);
    c.frame_received(wire(4, rst_stream, 0, 2 * attempt + 1).data());
    ring.frame_value(c.number(), rst_stream, false, 2 * attempt + 1, 7);
  }
  ring.client_call_ended(number, static_cast<std::uint8_t>(status_code::unavailable), "/p.S/Get");
  const recording r = recording_of(ring);
  const std::vector<recorded_call> calls = r.calls();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_TRUE(calls[0].client);
  EXPECT_EQ(calls[0].events.size(), 8u);
  EXPECT_EQ(calls[0].stream, 3u);
  EXPECT_EQ(calls[0].took, 1s);
  EXPECT_EQ(calls[0].status, status_code::unavailable);
  EXPECT_EQ(r.events()[calls[0].events[3]].value, 7u);
}

TEST(Recording, ConnectionsHaveTheirAddressesAndTheReasonOfTheirEnd) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  base::address_bytes local, peer;
  local.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  local.port = 50051;
  peer.ip[15] = 1;
  peer.port = 40000;
  ring.set_time(at(1s));
  ring.connection_opened(c.number(), false, local, peer);
  ring.frame_sent(c.number(), goaway, 0, 0, 8);
  ring.frame_value(c.number(), goaway, true, 5, 11);
  const std::string reason = std::string(200, 'r') + "\x1b[31m";
  ring.connection_closed(c.number(), 9, reason);
  ring.connection_closed(c.number(), 9, "GOAWAY \x1b[31m");
  const recording r = recording_of(ring);
  ASSERT_EQ(r.events().size(), 4u);
  EXPECT_EQ(r.events()[0].text, "127.0.0.1:50051 [::1]:40000");
  EXPECT_EQ(r.events()[1].value, 11u);
  EXPECT_EQ(r.events()[2].text, reason.substr(0, event_ring::text_bytes_max));
  EXPECT_EQ(r.events()[3].text, "GOAWAY ?[31m");
}

TEST(Recording, UnregisteredMethodsHaveTheFirst112BytesOfTheirPath) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  ring.set_time(at(1s));
  c.frame_received(wire(57, headers, end_headers, 1).data());
  ring.call_began(c.number(), 0, method_names::unregistered());
  ring.text("/" + std::string(300, 'x'));
  const recording r = recording_of(ring);
  ASSERT_EQ(r.events().size(), 2u);
  EXPECT_EQ(r.events()[1].text.size(), event_ring::text_bytes_max);
  EXPECT_EQ(r.events()[1].method, "");
  EXPECT_EQ(r.calls().at(0).method, r.events()[1].text);
}

TEST(Recording, TheRingKeepsTheLatestEvents) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  for (std::uint32_t i = 1; i <= 2 * event_ring::capacity; ++i) {
    if (i % 100 == 1) ring.set_time(at(i * 1ms));
    ring.frame_sent(c.number(), data, 0, i, 0);
  }
  const recording r = recording_of(ring);
  EXPECT_GT(r.events().size(), event_ring::capacity * 98 / 100);
  EXPECT_EQ(r.events().back().stream, 2 * event_ring::capacity);
  for (std::size_t i = 1; i < r.events().size(); ++i)
    ASSERT_EQ(r.events()[i].stream, r.events()[i - 1].stream + 1);
}

TEST(Recording, ATimeThatNoEventFollowsIsOverwritten) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  for (int i = 0; i < 1000; ++i) ring.set_time(at(i * 1ms));
  EXPECT_EQ(ring.read().newer.size(), 1u);
  EXPECT_EQ(ring.read().older.size(), 0u);
}

// In a process of its own, whose names are then used up.
TEST(Recording, NamesOfClientsAreLimitedAndThoseOfServersStillFit) {
  const auto use_up = [] {
    base::heap_event_ring memory;
    event_ring& ring = memory.get();
    for (std::size_t i = 0; i < 2 * method_names::client_names_max; ++i)
      ring.name_of(("/many.S/M" + std::to_string(i)).c_str());
    const bool limited = ring.name_of("/many.S/OneMore").id == base::method_name::id_of_none;
    const bool fits = method_names::of_server("/many.S/OfAServer").id != base::method_name::id_of_none;
    std::_Exit(limited && fits ? 0 : 1);
  };
  EXPECT_EXIT(use_up(), ::testing::ExitedWithCode(0), "");
}

TEST(Recording, ANameAtAReusedAddressIsTheTextThatIsThere) {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  char path[] = "/reused.S/A";
  EXPECT_STREQ(ring.name_of(path).text, "/reused.S/A");
  path[sizeof path - 2] = 'B';
  EXPECT_STREQ(ring.name_of(path).text, "/reused.S/B");
}

// A recording with an event of each kind.
std::string file_of_all_kinds() {
  base::heap_event_ring memory;
  event_ring& ring = memory.get();
  const base::recorded_connection c(ring);
  ring.set_time(at(1s));
  ring.connection_opened(c.number(), true, {}, {});
  write_server_call(ring, c, 1);
  ring.call_queued(1, ring.name_of("/p.S/Get"));
  ring.frame_sent(c.number(), headers, end_headers, 3, 40);
  ring.attempt_began(c.number(), 0, 1, ring.name_of("/p.S/Get"), 0);
  ring.message(true, c.number(), 3, true, 100);
  ring.client_call_ended(1, 0, "/p.S/Get");
  ring.long_iteration(0, 12ms);
  ring.stalled(0, 13ms);
  ring.connection_closed(c.number(), 9, "the peer closed the connection");
  return file_of(ring);
}

TEST(Recording, EveryTruncatedFileIsRefusedWithAReason) {
  const std::string whole = file_of_all_kinds();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto parsed = recording::parse(whole.substr(0, n));
    ASSERT_FALSE(parsed.ok()) << n;
    ASSERT_EQ(parsed.status().code(), status_code::data_loss);
    ASSERT_THAT(std::string(parsed.status().message()), ::testing::HasSubstr("recording"));
  }
  EXPECT_FALSE(recording::parse(whole + "x").ok());
}

TEST(Recording, FlippedBytesAreReadOrRefusedButNeverTrusted) {
  const std::string whole = file_of_all_kinds();
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int flips = 0; flips < 4; ++flips) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto parsed = recording::parse(std::move(bytes));
    if (!parsed.ok()) continue;
    for (const recorded_call& call : parsed->calls())
      for (const std::size_t e : call.events) ASSERT_LT(e, parsed->events().size());
    for (const recorded_event& e : parsed->events()) {
      ASSERT_LT(e.length, 1u << 24 | (e.kind == recorded_kind::message ? ~0u : 0u));
      for (const char byte : e.text) ASSERT_TRUE(byte >= ' ' && byte <= '~');
    }
  }
}

TEST(Recording, AFileOfANewerVersionSaysSo) {
  std::string bytes = file_of_all_kinds();
  bytes[7] = '2';
  EXPECT_EQ(recording::parse(std::move(bytes)).status().code(), status_code::unimplemented);
}

}  // namespace
}  // namespace coracle
