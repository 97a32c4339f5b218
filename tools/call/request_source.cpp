#include "tools/call/request_source.hpp"

#include "tools/failure.hpp"
#include "tools/files/file_content.hpp"
#include "tools/format/json_splitter.hpp"
#include "tools/format/text_splitter.hpp"

#include <cstdint>
#include <utility>

namespace coracle::tools {

namespace {

constexpr std::size_t taken_bytes_max = 64u << 10;

// Editors of Windows begin files with a byte order mark (RFC 8259 8.1).
std::string_view without_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

std::unique_ptr<value_splitter> splitter_for(message_syntax syntax) {
  if (syntax == message_syntax::text) return std::make_unique<text_splitter>();
  return std::make_unique<json_splitter>();
}

}  // namespace

request_source::request_source(const std::vector<std::string>& values, message_syntax syntax)
    : syntax_(syntax), values_(splitter_for(syntax)) {
  if (values.empty()) add_text(syntax == message_syntax::text ? "" : "{}");
  for (const std::string& one : values) {
    if (one == "-") {
      from_input_ = true;
      continue;
    }
    if (from_input_) throw usage_failure("requests after '-d -' would never be sent");
    if (one == "@" || one == "@-")
      throw usage_failure("'-d " + one + "' names no file; for the standard input use '-d -'");
    if (one.starts_with('@')) add_text(without_mark(file_content(one.substr(1))));
    else add_text(one);
  }
}

// Adds the text with the end of its last message, which users may leave out.
void request_source::add_text(std::string_view text) {
  values_->add(text);
  if (syntax_ == message_syntax::json) return values_->add("\n");
  const std::size_t end = text.find_last_not_of(" \t\r\n") + 1;
  const bool ended = text.substr(0, end).ends_with("\n---");
  values_->add(ended ? "\n" : "\n---\n");
}

task<bool> request_source::read_more() {
  if (!from_input_ || ended_) co_return false;
  if (!input_.is_open()) {
    result<net::input> opened = net::standard_input();
    if (!opened) throw failure("the standard input cannot be read: " + opened.status().to_string());
    input_ = std::move(*opened);
  }
  const mutable_bytes into(reinterpret_cast<std::uint8_t*>(room_.data()), room_.size());
  const result<std::size_t> n = co_await input_.read(into);
  if (n.status().code() == status_code::cancelled) throw coro::cancelled();
  if (!n) throw failure("the standard input cannot be read: " + n.status().to_string());
  if (*n == 0) {
    ended_ = true;
    input_.close();
  }
  const std::string_view text(room_.data(), *n);
  values_->add(std::exchange(begun_, true) ? text : without_mark(text));
  co_return true;
}

bool request_source::take(std::vector<std::string_view>& values) {
  std::size_t bytes = 0;
  while (bytes < taken_bytes_max) {
    auto value = values_->next();
    if (!value && (ended_ || !from_input_)) value = values_->rest();
    if (!value) return false;
    values.push_back(*value);
    bytes += value->size();
  }
  return true;
}

}  // namespace coracle::tools
