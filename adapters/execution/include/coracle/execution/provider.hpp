// provider: whose names of std::execution the adapter uses: the standard library's or stdexec's.
#pragma once

#include <version>

#if defined(__cpp_lib_senders)

#include <execution>
#include <memory>
#include <stop_token>

namespace coracle::senders::provider {

using namespace std::execution;
using std::forwarding_query_t;
using std::get_allocator_t;
using std::get_stop_token;
using std::get_stop_token_t;
using std::inplace_stop_source;
using std::inplace_stop_token;
using sender_t = std::execution::sender_tag;
using receiver_t = std::execution::receiver_tag;
using operation_state_t = std::execution::operation_state_tag;
using scheduler_t = std::execution::scheduler_tag;

}  // namespace coracle::senders::provider

#elif __has_include(<stdexec/execution.hpp>)

#include <stdexec/execution.hpp>

namespace coracle::senders {

namespace provider = ::stdexec;

}  // namespace coracle::senders

#else
#error \
    "coracle/execution.hpp requires senders: a standard library with __cpp_lib_senders, or stdexec in the include path"
#endif
