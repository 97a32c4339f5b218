// The option is known to the program.
#include "annotated.coracle.hpp"
#include "google/api/annotations.pb.h"

int main() {
  const auto* method = annotated::Thing::descriptor()->file()->service(0)->method(0);
  return method->options().GetExtension(google::api::http).get() == "/v1/{name=things/*}" ? 0 : 1;
}
