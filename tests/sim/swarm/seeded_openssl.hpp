// seeded_openssl: OpenSSL's random numbers come from a seed, so that handshakes replay byte by byte.
#pragma once

#include <cstdint>

namespace coracle::swarm {

// From now on, for the whole program. Never where secrets are needed.
void seed_openssl(std::uint64_t seed);

}  // namespace coracle::swarm
