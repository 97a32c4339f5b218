#include "client/call/call_state.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

namespace call_state_test {
namespace {

using coracle::client::after;
using coracle::client::call_event;
using coracle::client::call_state;

constexpr const char* state_names[] = {"Made",       "MadeClosing", "Open",       "Closing",
                                       "HalfClosed", "Ended",       "ReplyWaits", "ReplyCancelled"};
constexpr const char* event_names[] = {"Begin", "CloseRequested", "CloseSent", "SendAgain",
                                       "End",   "ReplyDeferred",  "ReplyRead", "ReplyDropped"};

struct arrow {
  call_state from;
  call_event by;
  call_state to;
};

// Every event that changes something.
std::optional<call_state> drawn(call_state from, call_event by) {
  using s = call_state;
  using e = call_event;
  static const std::vector<arrow> arrows = {
      {s::made, e::begin, s::open},
      {s::made, e::close_requested, s::made_closing},
      {s::made, e::end, s::ended},
      {s::made_closing, e::begin, s::closing},
      {s::made_closing, e::end, s::ended},
      {s::open, e::close_requested, s::closing},
      {s::open, e::close_sent, s::half_closed},
      {s::open, e::end, s::ended},
      {s::closing, e::close_sent, s::half_closed},
      {s::closing, e::end, s::ended},
      {s::half_closed, e::send_again, s::closing},
      {s::half_closed, e::end, s::ended},
      {s::ended, e::reply_deferred, s::reply_waits},
      {s::reply_waits, e::reply_read, s::ended},
      {s::reply_waits, e::reply_dropped, s::reply_cancelled},
  };
  for (const arrow& a : arrows)
    if (a.from == from && a.by == by) return a.to;
  return std::nullopt;
}

class CallState : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  call_state state() const { return static_cast<call_state>(std::get<0>(GetParam())); }
  call_event event() const { return static_cast<call_event>(std::get<1>(GetParam())); }
};

TEST_P(CallState, Follows) { EXPECT_EQ(after(state(), event()), drawn(state(), event()).value_or(state())); }

INSTANTIATE_TEST_SUITE_P(Each, CallState,
                         testing::Combine(testing::Range(std::size_t{0}, coracle::client::call_state_count),
                                          testing::Range(std::size_t{0}, coracle::client::call_event_count)),
                         [](const auto& pair) {
                           return std::string(state_names[std::get<0>(pair.param)]) +
                                  event_names[std::get<1>(pair.param)];
                         });

TEST(CallStates, LetNoCallWriteAgainAfterTheEndOfItsRequests) {
  for (std::size_t s = 0; s != coracle::client::call_state_count; ++s) {
    for (std::size_t e = 0; e != coracle::client::call_event_count; ++e) {
      const auto from = static_cast<call_state>(s);
      const call_state to = after(from, static_cast<call_event>(e));
      EXPECT_TRUE(may_write(from) || !may_write(to)) << state_names[s] << ' ' << event_names[e];
      EXPECT_TRUE(!is_over(from) || is_over(to)) << state_names[s] << ' ' << event_names[e];
    }
  }
}

}  // namespace
}  // namespace call_state_test
