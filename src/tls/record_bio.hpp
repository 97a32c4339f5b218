// record_bio: where OpenSSL finds encrypted bytes and puts them.
#pragma once

#include "base/output_buffer.hpp"
#include "coracle/base/bytes.hpp"
#include "tls/owned.hpp"

namespace coracle::tls {

// A memory BIO that reads bytes where they lie and writes into an output_buffer: one copy less each way than
// OpenSSL's own, and no memory of its own. Must stay in place while its BIO lives.
class record_bio {
 public:
  bytes_view in;
  base::output_buffer out;

  // Null when memory is out. Belongs to the SSL that it is given to.
  [[nodiscard]] BIO* make();
};

}  // namespace coracle::tls
