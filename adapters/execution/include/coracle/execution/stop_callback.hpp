// stop_callback: the callback of a stop token of any type.
//
// This header needs no library: it is used without Coracle's, too.
#pragma once

#include <stop_token>

namespace coracle::senders {

// The callback of a stop token of any type, as std::stop_callback_for_t, which also knows std::stop_token where the
// standard library does not yet describe it as a stoppable token.
template <class Token, class Function>
struct stop_callback_of {
  using type = typename Token::template callback_type<Function>;
};
template <class Function>
struct stop_callback_of<std::stop_token, Function> {
  using type = std::stop_callback<Function>;
};

}  // namespace coracle::senders
