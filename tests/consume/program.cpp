// The smallest program of a user: everything that it includes and links must come from the package.
#include "coracle/base/status.hpp"
#include "coracle/base/version.hpp"

int main() {
  const coracle::status status = coracle::status::not_found("no such movie");
  return status.to_string() == "NOT_FOUND: no such movie" ? 0 : 1;
}
