// with_console: a page in the browser that shows the services of a server and calls them.
#pragma once

#include "coracle/base/status.hpp"
#include "coracle/server/http_request.hpp"

#include <functional>
#include <string>
#include <type_traits>

namespace coracle {

class server;

/// The options of with_console(). A value type: set the members that differ from the defaults.
class console_options {
 public:
  /// All defaults.
  console_options() noexcept {}
  /// Where the page is: GET of this path and of paths below it, without a slash at the end. Default:
  /// "/console".
  std::string path = "/console";
  /// Decides who may use the page; called for every request of it, on the loop of its connection. OK admits
  /// the request. UNAUTHENTICATED becomes 401, for which a browser asks for a name and a password
  /// (Authorization: Basic, RFC 7617); any other status becomes 403. The client sees the message.
  ///
  /// Default: none. The page then answers only clients of the same machine, over loopback or a UNIX socket,
  /// and a listen() on any other address fails. A request that a proxy has forwarded (Forwarded,
  /// X-Forwarded-For) gets 403, because its client may be on another machine.
  std::function<status(const http_request&)> authorize;
  /// A serialized google.protobuf.FileDescriptorSet, whose comments the page shows, as
  /// openapi_options::descriptor_set: the .protoset of coracle_generate() with GENERATE_DESCRIPTORS, for
  /// example. Generated code has no comments. Several sets may follow one another. Default: none.
  std::string descriptor_set;
};
static_assert(!std::is_aggregate_v<console_options>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Adds a page to a server from which people call its services: a tree of them, a form and a JSON editor for
/// requests, all four kinds of call, a history. Call it before the first listen() or in_process(). Link
/// coracle::console.
///
///   coracle::with_console(server);  // http://127.0.0.1:50051/console
///
/// The page calls this server only, in the process, through its routing, its interceptors and its limits; it
/// is given no address and no keys. The metadata of a call is what the user types. Its auth() is that of the
/// browser's connection: with mutual TLS the identity of the browser, in plaintext null. Its peer is this
/// process. The page shows the services that are described by the program's generated code, or by
/// console_options::descriptor_set; it needs no reflection.
///
/// Use it for development, or protect it by `authorize`: it shows how to call every method.
///
/// Throws usage_error if the path is invalid or taken by another route, or if descriptor_set is none.
void with_console(server& on, console_options options = {});

}  // namespace coracle
