// A user's program at its smallest: what it includes and links must come from the package alone.
#include "coracle/base/status.hpp"
#include "coracle/base/version.hpp"

int main() {
  const coracle::status status = coracle::status::not_found("no such movie");
  return status.to_string() == "NOT_FOUND: no such movie" ? 0 : 1;
}
