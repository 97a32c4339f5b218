// The cases of gRPC's interop description, as far as this client has them.
#pragma once

#include <coracle/client.hpp>

#include <span>

namespace interop {

// Throws what the case found wrong.
using test_case = coracle::task<> (*)(coracle::channel& channel);

struct named_case {
  const char* name;
  test_case run;
};
std::span<const named_case> cases() noexcept;

}  // namespace interop
