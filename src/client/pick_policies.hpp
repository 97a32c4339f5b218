// The pick policies of the library's own: round_robin, least_request, weighted.
#pragma once

#include "coracle/client/pick_policy.hpp"

#include <cstdint>
#include <memory>

namespace coracle::client {

// Begins at a server drawn by `seed`, so that many clients that start together do not all begin with the first.
std::unique_ptr<pick_policy> make_round_robin(std::uint64_t seed);
// gRFC A48: draws `choices` servers, with repetition, and takes the one with the fewest calls in flight.
std::unique_ptr<pick_policy> make_least_request(std::uint64_t seed, std::uint32_t choices);
// In turn, as often as the weights say: a stride scheduler, O(log n) a pick.
std::unique_ptr<pick_policy> make_weighted(std::uint64_t seed);

}  // namespace coracle::client
