#include "server/plain_page.hpp"

#include "transport/header_block.hpp"

#include <cstring>
#include <memory>
#include <string>

namespace coracle::serving {

namespace {

void answer(transport::exchange x, std::string_view http_status, std::string_view content_type,
            std::string_view body) {
  transport::header_block head;
  head.add(":status", http_status)
      .add("content-type", content_type)
      .add("content-length", std::to_string(body.size()));
  x.send_block(head.bytes(), false);
  std::unique_ptr<std::uint8_t[]> bytes(new std::uint8_t[body.size()]);
  std::memcpy(bytes.get(), body.data(), body.size());
  x.queue_data(std::move(bytes), body.size(), true);
  x.release();
}

// Neither methods nor version: whoever can connect may read it, whatever the interceptors would say to a call.
constexpr std::string_view page = "<!doctype html>\n<title>Coracle</title>\n<p>A gRPC server.</p>\n";

void answer_now(transport::exchange x, const request_summary& request) {
  using verb = request_summary::verb;
  if (request.method == verb::get && request.root_path)
    return answer(x, "200", "text/html; charset=utf-8", page);
  if (request.method == verb::get && !request.row)
    return answer(x, "404", "text/plain", "no such page; gRPC calls are POST requests\n");
  if (request.method == verb::post)
    return answer(x, "415", "text/plain",
                  "a gRPC call has the content-type application/grpc, or application/grpc+ and a codec that "
                  "is known\n");
  answer(x, "405", "text/plain", "a gRPC call is a POST request, a page a GET request\n");
}

// A request whose body still comes. Owns itself.
class plain_request final : public transport::exchange_handler {
 public:
  plain_request(transport::exchange x, const request_summary& request) : exchange_(x), request_(request) {
    exchange_.set_handler(this);
  }

 private:
  void on_headers(transport::header_source& fields, transport::block_kind,
                  bool end_stream) noexcept override {
    transport::field unused;
    while (fields.next(unused)) continue;
    if (fields.ok() && end_stream) end();
  }
  void on_data(bytes_view bytes, bool end_stream) noexcept override {
    exchange_.consume(bytes.size());
    if (end_stream) end();
  }
  void on_writable() noexcept override {}
  void on_reset(const transport::abnormal_end&) noexcept override {
    exchange_.release();
    delete this;
  }
  void end() {
    answer_now(exchange_, request_);
    delete this;
  }
  transport::exchange exchange_;
  request_summary request_;
};

}  // namespace

void answer_plain(transport::exchange x, const request_summary& request, bool end_stream) {
  if (end_stream) answer_now(x, request);
  else new plain_request(x, request);
}

}  // namespace coracle::serving
