// call_observing: what a plugin observes of the servers and channels to which it is added.
#pragma once

#include <grpcpp/impl/one_library.h>

#include <functional>
#include <memory>
#include <string_view>

namespace coracle {
class client_observer;
class metadata;
class server;
}  // namespace coracle

namespace grpc::internal {

// Any thread calls the functions, several at once; each may be empty.
struct call_observing {
  // Adds observers to a server of Coracle, before it listens.
  std::function<void(coracle::server&)> configure;
  // Makes the observer of a channel, whose target has its scheme.
  std::function<std::shared_ptr<coracle::client_observer>(std::string_view target)> observer_of;
  // Adds to the metadata of a call that begins, on the thread of the program that makes it.
  std::function<void(coracle::metadata& of_call)> add_metadata;
};

// Observes all servers and channels of the process that are made from now on, until it ends.
void observe_all(std::shared_ptr<const call_observing> by);

}  // namespace grpc::internal
