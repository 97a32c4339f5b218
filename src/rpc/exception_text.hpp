// exception_text: describes an exception of user code for the log.
#pragma once

#include <exception>
#include <string>

namespace coracle::rpc {

// "threw std::runtime_error: no such table". Unprintable bytes are shown as '?', and a long text is cut.
[[nodiscard]] std::string exception_text(const std::exception_ptr& error);
// "std::runtime_error".
[[nodiscard]] std::string exception_type(const std::exception_ptr& error);

}  // namespace coracle::rpc
