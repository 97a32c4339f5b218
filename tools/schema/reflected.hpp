// reflected: reads definitions by server reflection (grpc/grpc doc/server-reflection.md; v1, else v1alpha).
#pragma once

#include "tools/endpoint.hpp"
#include "tools/failure.hpp"
#include "tools/schema/schema.hpp"

#include <coracle/base/clock.hpp>
#include <coracle/rpc/metadata.hpp>

#include <chrono>
#include <cstddef>
#include <memory>

namespace coracle::tools {

// A server may name new files without end, each with further imports; more than this is rejected.
constexpr std::size_t reflected_files_max = 2000;
constexpr std::size_t reflected_bytes_max = 64u << 20;
// The timeout of each answer, unless --timeout sets another.
constexpr duration reflection_time = std::chrono::seconds(20);

// The server knows none of the two versions.
class no_reflection : public failure {
 public:
  using failure::failure;
};

// The channel and the endpoint must outlive the result. `headers` are sent with the calls of reflection.
[[nodiscard]] std::unique_ptr<definitions> reflected(const channel& server, const endpoint& where,
                                                     metadata headers = {});

}  // namespace coracle::tools
