// Since OpenSSL 3.0 a provider is the official way; it would be ten times as long.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "sim/swarm/seeded_openssl.hpp"

#include "sim/swarm/dice.hpp"

#include <openssl/rand.h>

namespace coracle::swarm {

namespace {

dice chance(0, 0);  // a swarm has one thread

int draw(unsigned char* into, int n) {
  for (int i = 0; i < n; ++i) into[i] = static_cast<unsigned char>(chance.draw());
  return 1;
}
int ready() { return 1; }

}  // namespace

void seed_openssl(std::uint64_t seed) {
  chance = dice(seed, 7);
  static const RAND_METHOD method{nullptr, &draw, nullptr, nullptr, &draw, &ready};
  RAND_set_rand_method(&method);
}

}  // namespace coracle::swarm
