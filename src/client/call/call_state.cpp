#include "client/call/call_state.hpp"

namespace coracle::client {

namespace {

constexpr call_state_table make_transitions() {
  using enum call_state;
  constexpr auto same = static_cast<call_state>(call_state_count);
  // Columns: begin, close_requested, close_sent, send_again, end, reply_deferred, reply_read, reply_dropped.
  call_state_table table = {{
      /* made            */ {{open, made_closing, same, same, ended, same, same, same}},
      /* made_closing    */ {{closing, same, same, same, ended, same, same, same}},
      /* open            */ {{same, closing, half_closed, same, ended, same, same, same}},
      /* closing         */ {{same, same, half_closed, same, ended, same, same, same}},
      /* half_closed     */ {{same, same, same, closing, ended, same, same, same}},
      /* ended           */ {{same, same, same, same, same, reply_waits, same, same}},
      /* reply_waits     */ {{same, same, same, same, same, same, ended, reply_cancelled}},
      /* reply_cancelled */ {{same, same, same, same, same, same, same, same}},
  }};
  for (std::size_t s = 0; s != call_state_count; ++s)
    for (call_state& next : table[s])
      if (next == same) next = static_cast<call_state>(s);
  return table;
}

}  // namespace

const call_state_table call_transitions = make_transitions();

}  // namespace coracle::client
