#include "rpc/exception_text.hpp"

#include "base/printable.hpp"

#include <cxxabi.h>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace coracle::rpc {

namespace {

// An exception's text usually names a file or a query; a usage_error has its source location at the end.
constexpr std::size_t what_bytes_max = 1000;

// The type of the exception that is being handled.
std::string type_name() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  if (!type) return "(no C++ type)";
  int outcome = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &outcome), &std::free);
  return outcome == 0 ? readable.get() : type->name();
}

}  // namespace

std::string exception_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    std::string text = "threw " + type_name();
    if (const std::string_view what = e.what(); !what.empty())
      text.append(": ").append(base::printable(what, what_bytes_max));
    return text;
  } catch (...) {
    return "threw " + type_name();
  }
}

std::string exception_type(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (...) {
    return type_name();
  }
}

}  // namespace coracle::rpc
