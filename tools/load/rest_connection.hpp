// rest_connector: connections to an endpoint of HTTP/1.1 that takes the requests as JSON.
#pragma once

#include "tools/load/connection.hpp"
#include "tools/load/http_url.hpp"

#include <coracle/base/clock.hpp>

#include <memory>
#include <utility>

namespace coracle::tools::load {

// Each call is a POST. A call takes a TCP connection for itself, and leaves it for the next one when the server keeps it
// alive; with several calls at a time a connection of the scenario is thus several of TCP. A status of 200 to 299 is a
// call that ended well.
//
// Over the library's own streams, so that the same code calls in both runs that are compared; no TLS.
class rest_connector final : public connector {
 public:
  rest_connector(http_url url, duration timeout) : url_(std::move(url)), timeout_(timeout) {}
  [[nodiscard]] std::unique_ptr<connection> make() override;
  [[nodiscard]] task<call_end> reach(duration at_most, server_identity& who) override;

 private:
  const http_url url_;
  const duration timeout_;
};

}  // namespace coracle::tools::load
