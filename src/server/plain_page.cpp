#include "server/plain_page.hpp"

#include "coracle/base/version.hpp"
#include "transport/header_block.hpp"

#include <cstring>
#include <memory>
#include <string>

namespace coracle::serving {

namespace {

void answer(transport::exchange x, std::string_view http_status, std::string_view content_type,
            const std::string& body) {
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

std::string page(const router& routes) {
  std::string text = "<!doctype html>\n<title>Coracle</title>\n<h1>Coracle ";
  text.append(version_text).append("</h1>\n<p>A gRPC server. Methods:</p>\n<ul>\n");
  for (const service* s : routes.services())
    for (const coracle::method& m : s->methods()) text.append("<li>").append(m.path).append("</li>\n");
  return text.append("</ul>\n");
}

}  // namespace

void answer_plain(transport::exchange x, const request_summary& request, const router& routes) {
  using verb = request_summary::verb;
  if (request.method == verb::get && request.root_path)
    return answer(x, "200", "text/html; charset=utf-8", page(routes));
  if (request.method == verb::get && !request.row)
    return answer(x, "404", "text/plain", "no such page; gRPC calls are POST requests\n");
  if (request.method == verb::post)
    return answer(x, "415", "text/plain", "a gRPC call has the content-type application/grpc\n");
  answer(x, "405", "text/plain", "a gRPC call is a POST request, a page a GET request\n");
}

}  // namespace coracle::serving
