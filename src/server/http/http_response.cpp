#include "coracle/server/http_response.hpp"

#include "protocol/web/ascii.hpp"

#include <algorithm>

namespace coracle {

namespace {

http_response response_with(std::string body, std::string_view content_type, int code) {
  http_response r(code);
  r.headers.add("content-type", content_type);
  r.body = std::move(body);
  return r;
}

}  // namespace

http_response http_response::text(std::string body, int code) {
  return response_with(std::move(body), "text/plain; charset=utf-8", code);
}

http_response http_response::html(std::string body, int code) {
  return response_with(std::move(body), "text/html; charset=utf-8", code);
}

http_response http_response::json(std::string body, int code) {
  return response_with(std::move(body), "application/json", code);
}

http_response http_response::stream(std::string_view content_type, async_generator<std::string> pieces) {
  http_response r;
  r.headers.add("content-type", content_type);
  r.pieces.emplace(std::move(pieces));
  return r;
}

http_response& http_response::header(std::string_view name, std::string_view value) & {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), protocol::web::lower);
  headers.add(lower, value);
  return *this;
}

}  // namespace coracle
