#include "coracle/http1/impl/response_reader.hpp"

#include "http1/response_head.hpp"
#include "http1/text.hpp"

#include <algorithm>

namespace coracle::http1 {

namespace {

std::string lower_case(std::string_view text) {
  std::string made(text);
  for (char& c : made)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return made;
}

}  // namespace

void response_reader::feed(std::string_view bytes) {
  if (bytes.empty()) return;
  begun_ = true;
  held_ += bytes;
  while (broken_.empty() && !complete() && step()) {
  }
  if (broken_.empty() && !complete() && held_.size() > head_bytes_max)
    static_cast<void>(fail("its headers have no end"));
  if (complete() && !held_.empty()) keeps_alive_ = false;  // surplus bytes answer no request
}

void response_reader::end_of_stream() {
  if (complete() || !broken_.empty()) return;
  if (state_ == state::body_until_end) state_ = state::complete;
  else static_cast<void>(fail(begun_ ? "the connection ended in it" : "the connection ended before it"));
}

bool response_reader::fail(const char* reason) {
  broken_ = reason;
  return false;
}

// Returns false if more bytes are needed.
bool response_reader::step() {
  switch (state_) {
    case state::head: return read_head();
    case state::counted_body:
    case state::chunk: return skip_body();
    case state::chunk_size: return read_chunk_size();
    case state::trailers: return skip_trailers();
    case state::body_until_end:
      body_bytes_ += held_.size();
      held_.clear();
      return false;
    case state::complete: break;
  }
  return false;
}

bool response_reader::read_head() {
  const std::size_t end = held_.find(head_end);
  if (end == std::string::npos) return false;
  const std::string head = held_.substr(0, end + line_end.size());
  held_.erase(0, end + head_end.size());
  const std::string_view text = head;
  const std::optional<response_line> first = read_response_line(text);
  if (!first) return fail("it does not begin with a status line of HTTP/1.1");
  code_ = first->code;
  reason_ = first->reason;
  keeps_alive_ = !first->is_1_0;
  has_length_ = chunked_ = false;
  left_ = 0;
  for (std::size_t at = text.find(line_end) + line_end.size(); at < text.size() && broken_.empty();) {
    const std::size_t stop = text.find(line_end, at);
    read_field(text.substr(at, stop - at));
    at = stop + line_end.size();
  }
  if (!broken_.empty()) return false;
  if (code_ >= 200) body_follows();
  else if (++interim_responses_ > interim_responses_max)
    return fail("more than 16 interim responses (1xx) come before it");
  return true;
}

void response_reader::read_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string name = lower_case(line.substr(0, colon));
  const std::string_view value = colon == line.npos ? std::string_view() : trimmed(line.substr(colon + 1));
  if (name == "content-length") {
    if (!read_number(value, left_)) static_cast<void>(fail("its Content-Length is not a number"));
    has_length_ = true;
  } else if (name == "transfer-encoding") {
    chunked_ = lower_case(value).ends_with("chunked");
  } else if (name == "connection") {
    const std::string connection_value = lower_case(value);
    if (connection_value.find("close") != std::string::npos) keeps_alive_ = false;
    else if (connection_value.find("keep-alive") != std::string::npos) keeps_alive_ = true;
  }
}

// RFC 9112 6.3
void response_reader::body_follows() {
  if (code_ == 204 || code_ == 304) {
    state_ = state::complete;
  } else if (chunked_) {
    state_ = state::chunk_size;
  } else if (has_length_) {
    state_ = left_ > 0 ? state::counted_body : state::complete;
  } else {
    state_ = state::body_until_end;
    keeps_alive_ = false;
  }
}

bool response_reader::skip_body() {
  const std::uint64_t here = std::min<std::uint64_t>(left_, held_.size());
  held_.erase(0, here);
  left_ -= here;
  if (state_ == state::counted_body) body_bytes_ += here;
  if (left_ > 0) return false;
  state_ = state_ == state::chunk ? state::chunk_size : state::complete;
  return true;
}

bool response_reader::read_chunk_size() {
  const std::size_t end = held_.find(line_end);
  if (end == std::string::npos) return false;
  const std::string_view line = std::string_view(held_).substr(0, end);
  std::uint64_t size = 0;
  if (!read_number(trimmed(line.substr(0, line.find(';'))), size, 16) || size > (std::uint64_t{1} << 60))
    return fail("a chunk has no size");
  held_.erase(0, end + line_end.size());
  body_bytes_ += size;
  left_ = size + line_end.size();
  state_ = size > 0 ? state::chunk : state::trailers;
  return true;
}

bool response_reader::skip_trailers() {
  const std::size_t end = held_.find(line_end);
  if (end == std::string::npos) return false;
  held_.erase(0, end + line_end.size());
  if (end == 0) state_ = state::complete;
  return true;
}

}  // namespace coracle::http1
