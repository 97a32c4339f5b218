#include "tools/call/request_source.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"

#include <array>
#include <utility>

namespace coracle::tools {

request_source::request_source(const std::vector<std::string>& said, std::string alone) {
  if (said.empty()) values_.add(alone);
  for (const std::string& one : said) {
    if (one == "-") {
      from_input_ = true;
      continue;
    }
    if (from_input_) throw usage_failure("what comes after -d - would never be sent");
    if (one == "@" || one == "@-")
      throw usage_failure("'-d " + one + "' names no file; the standard input is '-d -'");
    values_.add(one.starts_with('@') ? file_content(one.substr(1)) : one);
    values_.add("\n");
  }
}

task<std::optional<std::string>> request_source::next() {
  for (;;) {
    if (auto value = values_.next()) co_return value;
    if (ended_ || !from_input_) co_return values_.rest();
    if (!input_.is_open()) {
      result<net::input> opened = net::standard_input();
      if (!opened) throw failure("the standard input cannot be read: " + opened.status().to_string());
      input_ = std::move(*opened);
    }
    std::array<char, 4096> room;
    const mutable_bytes into(reinterpret_cast<std::uint8_t*>(room.data()), room.size());
    const result<std::size_t> n = co_await input_.read(into);
    if (n.status().code() == status_code::cancelled) co_return std::nullopt;  // the call is over
    if (!n) throw failure("the standard input cannot be read: " + n.status().to_string());
    if (*n == 0) {
      ended_ = true;
      input_.close();
    }
    values_.add({room.data(), *n});
  }
}

}  // namespace coracle::tools
