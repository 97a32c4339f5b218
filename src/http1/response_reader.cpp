#include "coracle/http1/impl/response_reader.hpp"

#include "http1/connection.hpp"
#include "http1/text.hpp"

namespace coracle::http1 {

// The engine's timeouts are not used: the caller limits the time of the whole exchange.
response_reader::response_reader() : engine_(new connection(role::client, {}, {})) {
  engine_->begin_request("POST", "/", "", {});
  engine_->end_headers();
}
response_reader::response_reader(response_reader&&) noexcept = default;
response_reader& response_reader::operator=(response_reader&&) noexcept = default;
response_reader::~response_reader() = default;

void response_reader::feed(std::string_view bytes) {
  engine_->feed(as_bytes(bytes), {});
  read_events();
}

void response_reader::end_of_stream() {
  if (complete() || !broken_.empty()) return;
  engine_->feed_end({});
  read_events();
}

bool response_reader::begun() const noexcept { return engine_->response_begun(); }

bool response_reader::keeps_alive() const noexcept { return complete_ && !engine_->closes(); }

void response_reader::read_events() {
  for (event e; (e = engine_->next()).type != event::kind::none;) {
    switch (e.type) {
      case event::kind::none: break;
      case event::kind::headers:
        static_cast<void>(read_number(engine_->fields()[0].value, code_));
        reason_ = engine_->reason_phrase();
        break;
      case event::kind::data: body_bytes_ += e.data.size(); break;
      case event::kind::end: complete_ = true; break;
      case event::kind::failed:
        // Surplus bytes after the response answer no request; the engine closes the connection because of
        // them.
        if (!complete_) broken_ = e.reason;
        break;
    }
  }
}

}  // namespace coracle::http1
