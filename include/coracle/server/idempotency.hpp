// idempotency: a server that runs a call with an idempotency key once, however often clients send it.
#pragma once

#include "coracle/base/clock.hpp"
#include "coracle/base/status.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/metadata.hpp"
#include "coracle/server/server_context.hpp"
#include "coracle/server/server_interceptor.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace coracle {

/// The longest idempotency key, in bytes. A call with a longer one ends with RESOURCE_EXHAUSTED.
inline constexpr std::size_t idempotency_key_bytes_max = 255;

/// What tells the calls of an idempotency_store apart. Two calls are the same if method, client and key are
/// equal.
class idempotent_call {
 public:
  /// A call without a name and a key.
  idempotent_call() noexcept {}
  /// "/package.Service/Method".
  std::string method;
  /// Who the client is: see idempotent_calls().
  std::string client;
  /// What the client sent as `idempotency-key`.
  std::string key;
  /// A hash of the request, by which a key that is used for another one is noticed.
  std::uint64_t request = 0;
};

/// What a call has ended with, for those that repeat it.
class idempotent_outcome {
 public:
  /// OK, with an empty reply.
  idempotent_outcome() noexcept {}
  /// The status.
  status outcome;
  /// The reply, if the outcome is OK: protobuf's binary format of a message of protobuf, otherwise the bytes
  /// in the encoding of the call.
  std::string reply;
  /// The trailing metadata of the handler, such as the details of an error.
  metadata trailing;
};

/// The answer of an idempotency_store to a claim.
class idempotency_claim {
 public:
  /// Whether the call may run.
  enum class answer : std::uint8_t {
    granted,  ///< the call runs: record() or release() follows
    ended,  ///< it ran before, with `outcome`
    running,  ///< it is running, here or elsewhere
    another,  ///< the key was used for another request
    full  ///< the store has no room
  };
  /// granted.
  idempotency_claim() noexcept {}
  /// Any answer; one that is `ended` needs an outcome.
  idempotency_claim(answer a) noexcept : is(a) {}  // NOLINT(google-explicit-constructor)
  /// The answer.
  answer is = answer::granted;
  /// What the call ended with before, if it has ended.
  idempotent_outcome outcome;
};

/// Remembers the calls that have an idempotency key, for idempotent_calls(). Derive from it to keep them in a
/// database that all servers share. One object serves the calls of all loops. The functions run on the loop
/// of the call, and are not stopped when the call ends early. An exception of any of them ends the call with
/// UNKNOWN; a call that was granted stays so then, unless the store itself lets it go after some time.
class idempotency_store {
 public:
  virtual ~idempotency_store() = default;
  /// Claims the right to run the call. Of several claims of the same call, one is granted.
  [[nodiscard]] virtual task<idempotency_claim> claim(const idempotent_call& call) = 0;
  /// Keeps the outcome of a call that was granted.
  [[nodiscard]] virtual task<> record(const idempotent_call& call, idempotent_outcome outcome) = 0;
  /// Forgets a call that was granted: nothing of it was done, and it may run when it is repeated.
  [[nodiscard]] virtual task<> release(const idempotent_call& call) = 0;
};

/// The limits of a memory_idempotency_store(). An aggregate.
struct memory_idempotency_limits {
  /// How long outcomes are kept. Default: an hour.
  duration kept = std::chrono::hours(1);
  /// The maximum number of calls. Beyond it, the oldest outcomes are forgotten; if all are running, further
  /// calls with a key end with RESOURCE_EXHAUSTED. Default: 100,000.
  std::size_t calls_max = 100'000;
  /// The maximum size of keys, replies and trailing metadata, in bytes. Beyond it, the oldest outcomes are
  /// forgotten. Default: 64 MiB.
  std::size_t bytes_max = 64u << 20;
};
static_assert(std::is_trivially_destructible_v<memory_idempotency_limits>,
              "GCC 12 destroys aggregates in co_await expressions twice");

/// Returns a store in the memory of this process, which is empty when the process starts anew.
[[nodiscard]] std::shared_ptr<idempotency_store> memory_idempotency_store(
    memory_idempotency_limits limits = {});

/// How long a handler goes on whose call has ended early; it is stopped then.
inline constexpr duration idempotent_handler_grace = std::chrono::minutes(1);

/// Names the client of a call.
using client_naming = std::function<std::string(const server_context&)>;

/// Returns the first name in the client's certificate (auth_context::identities()), if it was verified, or
/// else nothing.
[[nodiscard]] std::string name_in_certificate(const server_context& context);

/// Returns an interceptor by which a unary call with the metadata `idempotency-key` runs once, however often
/// the client repeats it with the same key and request: the others get the status, reply and trailing
/// metadata of the first one. So retry policies become safe for methods that change something. Add it last,
/// next to the handlers.
///
///   server.add_interceptor(coracle::idempotent_calls(coracle::memory_idempotency_store(),
///                                                    {"/movie.MovieService/AddMovie"}));
///
/// `methods`: "/package.Service/Method", or "/package.Service/" for all methods of a service; others, and
/// calls without a key, are not changed. `client`: clients with different names have keys of their own. Those
/// without a name share them: a client that knows the key and the request of another gets its reply. If your
/// clients have tokens instead of certificates, pass a function that names the user of a token. Throws
/// usage_error if there is no store, or for another path.
///
/// - The handler gets no stop and no deadline from its call: it runs to its end, also if its client goes away
///   or its deadline passes, for at most idempotent_handler_grace after that. A drain, and the end of the
///   server, wait for it.
/// - A repetition of a call that is running waits for its end, within its own deadline. With protect(), it
///   holds a place meanwhile.
/// - Every outcome is kept, unless the handler calls server_context::retry_after(): this says that nothing
///   was done, and the call runs again when it is repeated.
/// - A key that was used for another request ends the call with INVALID_ARGUMENT.
///
/// Source: draft-ietf-httpapi-idempotency-key-header-07, "The Idempotency-Key HTTP Header Field".
[[nodiscard]] std::shared_ptr<server_interceptor> idempotent_calls(
    std::shared_ptr<idempotency_store> store, std::vector<std::string> methods,
    client_naming client = name_in_certificate);

}  // namespace coracle
