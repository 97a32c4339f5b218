#include "coracle/runtime/name_record.hpp"

#include "coracle/base/impl/assert.hpp"

#include <arpa/inet.h>
#include <string>

namespace coracle::sim {

name_record& name_record::address(std::string_view literal) {
  const std::string text(literal);
  ip one;
  one.v6 = text.find(':') != std::string::npos;
  CORACLE_ASSERT(::inet_pton(one.v6 ? AF_INET6 : AF_INET, text.c_str(), one.bytes.data()) == 1,
                 "a name_record takes IP addresses: write 10.0.0.1 or fd00::1");
  addresses_.push_back(one);
  return *this;
}

}  // namespace coracle::sim
