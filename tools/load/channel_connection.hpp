// channel_connector: makes connections that are channels of the library.
#pragma once

#include "tools/load/connection.hpp"

#include <coracle/client/channel_options.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/security/credentials.hpp>

#include <memory>
#include <string>
#include <utility>

namespace coracle::tools::load {

// Their options have the protocol. Each connection leads to one server: of the servers behind a name, the
// first that responds.
class channel_connector final : public connector {
 public:
  // options.calls has what all calls share: timeout, metadata, compression. `on` must outlive the
  // connections.
  channel_connector(runtime& on, std::string target, channel_credentials credentials, channel_options options)
      : on_(on),
        target_(std::move(target)),
        credentials_(std::move(credentials)),
        options_(std::move(options)) {}
  [[nodiscard]] std::unique_ptr<connection> make() override;
  // Makes a call to the health service, which the server need not have.
  [[nodiscard]] task<call_end> reach(duration at_most, server_identity& identity) override;

 private:
  runtime& on_;
  const std::string target_;
  const channel_credentials credentials_;
  const channel_options options_;
};

}  // namespace coracle::tools::load
