#include "expectations.hpp"

#include <stdexcept>

namespace interop {

void require(bool truth, const std::string& text) {
  if (!truth) throw std::runtime_error(text);
}

void require_status(const coracle::status& found, coracle::status_code code, std::string_view message) {
  require(found == coracle::status(code, message), "the status is " + found.to_string());
}

void require_code(const coracle::status& found, coracle::status_code code) {
  require(found.code() == code, "the status is " + found.to_string() + ", not " + std::string(name_of(code)));
}

void require_size(const pb::Payload& payload, std::int32_t size) {
  require(payload.type() == pb::COMPRESSABLE, "the payload has another type");
  require(payload.body() == body_of(size), "the payload is not " + std::to_string(size) + " zeros but " +
                                               std::to_string(payload.body().size()) + " bytes");
}

std::string body_of(std::int32_t bytes) { return std::string(static_cast<std::size_t>(bytes), '\0'); }

pb::SimpleRequest simple_request(std::int32_t request_bytes, std::int32_t response_bytes) {
  pb::SimpleRequest request;
  request.set_response_size(response_bytes);
  request.mutable_payload()->set_body(body_of(request_bytes));
  return request;
}

pb::StreamingOutputCallRequest duplex_request(std::int32_t request_bytes, std::int32_t response_bytes) {
  pb::StreamingOutputCallRequest request;
  request.add_response_parameters()->set_size(response_bytes);
  request.mutable_payload()->set_body(body_of(request_bytes));
  return request;
}

}  // namespace interop
