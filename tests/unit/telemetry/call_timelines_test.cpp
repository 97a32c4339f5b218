// call_timelines: which calls of a recording the page "rpcz" has, what their timelines have, and its limits.
#include "telemetry/pages/call_timelines.hpp"

#include "base/event_ring.hpp"
#include "base/recording_file.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/rpc/recorder.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/runtime/sync_wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace coracle::telemetry_internal::call_timelines_test {
namespace {

using base::event_ring;
using base::method_names;
using services::ordered_json;
using ::testing::ElementsAre;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr std::size_t loop_number = 3;

// A ring, to which calls of a server are written.
class world {
 public:
  void set_time(duration since_start) { ring().set_time(time_point(since_start)); }
  // Returns the stream of the call.
  std::uint32_t begin(const base::method_name& method, const std::string& path = {}) {
    const std::uint32_t stream = next_;
    next_ += 2;
    constexpr std::uint8_t headers = 1, end_headers = 4;
    const std::uint8_t frame[] = {0,
                                  0,
                                  57,
                                  headers,
                                  end_headers,
                                  static_cast<std::uint8_t>(stream >> 24),
                                  static_cast<std::uint8_t>(stream >> 16),
                                  static_cast<std::uint8_t>(stream >> 8),
                                  static_cast<std::uint8_t>(stream)};
    connection_.frame_received(frame);
    ring().call_began(connection_.number(), stream, method);
    if (!path.empty()) ring().text(path);
    return stream;
  }
  void deadline(std::uint32_t stream, duration left) {
    ring().call_deadline(connection_.number(), stream, left);
  }
  void receive_message(std::uint32_t stream) {
    ring().message(false, connection_.number(), stream, true, 12);
  }
  void end(std::uint32_t stream, status_code code = status_code::ok) {
    ring().call_ended(connection_.number(), stream, static_cast<std::uint8_t>(code));
  }
  event_ring& ring() { return memory_.get(); }

  ordered_json page(std::string_view only = {}) {
    const base::recorded_ring one{nullptr, loop_number, 0, ring().read()};
    std::string bytes;
    const base::recording_sink sink{[](void* to, const void* from, std::size_t n) noexcept {
                                      static_cast<std::string*>(to)->append(static_cast<const char*>(from),
                                                                            n);
                                      return true;
                                    },
                                    &bytes};
    EXPECT_TRUE(base::write_recording(sink, {&one, 1}, {4711, 0, 100'000'000'000}));
    const auto parsed = recording::parse(std::move(bytes));
    EXPECT_TRUE(parsed.ok());
    return timelines_of_calls(*parsed, only);
  }

 private:
  base::heap_event_ring memory_;
  base::recorded_connection connection_{memory_.get()};
  std::uint32_t next_ = 1;
};

// The durations of the calls of a list, in the order of the page.
std::vector<double> durations(const ordered_json& method, std::string_view list) {
  std::vector<double> found;
  for (const ordered_json& call : method.at("calls"))
    if (std::ranges::find(call.at("lists"), ordered_json(list)) != call.at("lists").end())
      found.push_back(call.at("took_ms").get<double>());
  return found;
}

TEST(CallTimelines, AMethodHasItsSlowestFailedAndLatestCalls) {
  world w;
  const base::method_name& method = method_names::of_server("/rpcz.S/Lists");
  for (int i = 0; i < 30; ++i) {
    w.set_time(1s + i * 1s);
    const std::uint32_t stream = w.begin(method);
    // The first calls are the slowest, and the 15th one failed.
    w.set_time(1s + i * 1s + (100 - i) * 1ms);
    w.end(stream, i == 15 ? status_code::internal : status_code::ok);
  }
  const ordered_json page = w.page();
  ASSERT_EQ(page.at("methods").size(), 1u);
  const ordered_json& lists = page.at("methods").at(0);
  EXPECT_EQ(lists.at("method"), "rpcz.S/Lists");
  EXPECT_EQ(lists.at("side"), "server");
  EXPECT_EQ(lists.at("call_count"), 30);
  EXPECT_EQ(lists.at("failed"), 1);
  static_assert(call_timelines::calls_max == 8);
  EXPECT_THAT(durations(lists, "slowest"), ElementsAre(93, 94, 95, 96, 97, 98, 99, 100));
  EXPECT_THAT(durations(lists, "latest"), ElementsAre(71, 72, 73, 74, 75, 76, 77, 78));
  EXPECT_THAT(durations(lists, "failed"), ElementsAre(85));
}

TEST(CallTimelines, ATimelineHasTheDeadlineTheStatusAndTheStallsOfItsLoop) {
  world w;
  w.set_time(1s);
  w.ring().long_iteration(loop_number, 20ms);  // before the call
  w.set_time(2s);
  const std::uint32_t stream = w.begin(method_names::of_server("/rpcz.S/Stalled"));
  w.deadline(stream, 250ms);
  w.receive_message(stream);
  w.set_time(2s + 100ms);
  w.ring().long_iteration(loop_number, 90ms);
  w.set_time(2s + 300ms);
  w.end(stream, status_code::deadline_exceeded);
  w.set_time(5s);
  w.ring().stalled(loop_number, 1s);  // after the call
  const ordered_json call = w.page().at("methods").at(0).at("calls").at(0);
  EXPECT_EQ(call.at("took_ms"), 300.0);
  EXPECT_EQ(call.at("status"), "DEADLINE_EXCEEDED");
  EXPECT_EQ(call.at("deadline_ms"), 250.0);
  EXPECT_EQ(call.at("received_bytes"), 57);
  std::vector<std::string> events;
  for (const ordered_json& e : call.at("events")) events.push_back(e.at("event"));
  EXPECT_THAT(events, ElementsAre("frame", "began", "message", "long_iteration", "ended"));
  EXPECT_EQ(call.at("events").at(0).at("frame"), "HEADERS");
  EXPECT_EQ(call.at("events").at(1).at("deadline_ms"), 250.0);
  EXPECT_EQ(call.at("events").at(2),
            (ordered_json{
                {"at_ms", 0.0}, {"event", "message"}, {"compressed", true}, {"sent", false}, {"bytes", 12}}));
  EXPECT_EQ(call.at("events").at(3).at("took_ms"), 90.0);
  EXPECT_EQ(call.at("events").at(4).at("at_ms"), 300.0);
}

TEST(CallTimelines, MethodsThatAreNotRegisteredAreOneMethod) {
  world w;
  w.set_time(1s);
  for (const char* path : {"/<script>alert(1)</script>", "/evil.\x1b[2J/B"})
    w.end(w.begin(method_names::unregistered(), path), status_code::unimplemented);
  const ordered_json page = w.page();
  ASSERT_EQ(page.at("methods").size(), 1u);
  EXPECT_EQ(page.at("methods").at(0).at("method"), "other");
  EXPECT_EQ(page.at("methods").at(0).at("call_count"), 2);
  EXPECT_EQ(page.dump().find('\x1b'), std::string::npos);
  EXPECT_EQ(page.dump().find("u001b"), std::string::npos) << "the recording has printable text only";
}

TEST(CallTimelines, TheNumbersOfMethodsAndEventsHaveMaxima) {
  world w;
  w.set_time(1s);
  for (std::size_t i = 0; i < call_timelines::methods_max + 5; ++i)
    w.end(w.begin(method_names::of_server("/rpcz.Many/M" + std::to_string(i))));
  const ordered_json methods = w.page();
  EXPECT_EQ(methods.at("methods").size(), call_timelines::methods_max);
  EXPECT_EQ(methods.at("method_count"), call_timelines::methods_max + 5);

  const std::uint32_t stream = w.begin(method_names::of_server("/rpcz.S/Long"));
  for (int i = 0; i < 1000; ++i) w.receive_message(stream);
  w.end(stream);
  const ordered_json page = w.page("rpcz.S/Long");
  ASSERT_EQ(page.at("methods").size(), 1u);
  const ordered_json& call = page.at("methods").at(0).at("calls").at(0);
  EXPECT_EQ(call.at("events").size(), call_timelines::events_max);
  EXPECT_EQ(call.at("event_count"), 1003);
  EXPECT_EQ(call.at("events").front().at("event"), "frame");
  EXPECT_EQ(call.at("events").back().at("event"), "ended");
}

TEST(CallTimelines, ACallWhoseBeginningIsOverwrittenIsLeftOut) {
  world w;
  w.set_time(1s);
  const std::uint32_t stream = w.begin(method_names::of_server("/rpcz.S/Old"));
  for (std::size_t i = 0; i < event_ring::capacity; ++i) w.receive_message(stream);
  w.end(stream);
  EXPECT_EQ(w.page().at("method_count"), 0);
}

TEST(CallTimelines, ReadingsAtTheSameTimeHaveAMaximum) {
  runtime rt(1);
  call_timelines of;
  struct program {
    static task<> read(call_timelines& of, runtime& rt, int& made) {
      const std::optional<std::string> page = co_await of.take(rt, "");
      if (page && page->starts_with("{")) ++made;
    }
    static task<> read_at_once(call_timelines& of, runtime& rt, int& made) {
      co_await when_all(read(of, rt, made), read(of, rt, made), read(of, rt, made));
    }
  };
  static_assert(call_timelines::readings_max == 2);
  int made = 0;
  sync_wait(rt, rt.at(0), program::read_at_once(of, rt, made));
  EXPECT_EQ(made, 2) << "the third one is refused";
  sync_wait(rt, rt.at(0), program::read(of, rt, made));
  EXPECT_EQ(made, 3) << "after the others there is room again";
}

TEST(CallTimelines, ACallInProgressIsAmongTheLatestOnly) {
  world w;
  w.set_time(1s);
  w.begin(method_names::of_server("/rpcz.S/Running"));
  const ordered_json call = w.page().at("methods").at(0).at("calls").at(0);
  EXPECT_EQ(call.at("lists"), ordered_json::array({"latest"}));
  EXPECT_TRUE(call.at("status").is_null());
  EXPECT_TRUE(call.at("took_ms").is_null());
}

}  // namespace
}  // namespace coracle::telemetry_internal::call_timelines_test
