// rest_connector: makes connections to an HTTP/1.1 endpoint that accepts the requests as JSON.
#pragma once

#include "tools/load/connection.hpp"
#include "tools/load/http_url.hpp"

#include <coracle/base/clock.hpp>

#include <memory>
#include <utility>

namespace coracle::tools::load {

// Each call is a POST. A call has a TCP connection to itself, which later calls reuse if the server keeps it
// alive; with several concurrent calls, one connection of the scenario is thus several TCP connections. A
// status of 200 to 299 counts as OK.
//
// Uses the library's own streams, so that both of the compared runs use the same code; no TLS.
class rest_connector final : public connector {
 public:
  rest_connector(http_url url, duration timeout) : url_(std::move(url)), timeout_(timeout) {}
  [[nodiscard]] std::unique_ptr<connection> make() override;
  [[nodiscard]] task<call_end> reach(duration at_most, server_identity& identity) override;

 private:
  const http_url url_;
  const duration timeout_;
};

}  // namespace coracle::tools::load
