#include "tls/record_bio.hpp"

#include "base/if_memory_allows.hpp"

#include <algorithm>
#include <cstring>

namespace coracle::tls {

namespace {

record_bio& owner_of(BIO* b) noexcept { return *static_cast<record_bio*>(BIO_get_data(b)); }

int read(BIO* b, char* into, std::size_t size, std::size_t* got) {
  BIO_clear_retry_flags(b);
  bytes_view& in = owner_of(b).in;
  if (in.empty()) {
    BIO_set_retry_read(b);
    return 0;
  }
  *got = std::min(size, in.size());
  std::memcpy(into, in.data(), *got);
  in = in.subspan(*got);
  return 1;
}

int write(BIO* b, const char* from, std::size_t size, std::size_t* put) {
  BIO_clear_retry_flags(b);
  // No exception passes through OpenSSL: without memory the write fails.
  const bytes_view bytes(reinterpret_cast<const std::uint8_t*>(from), size);
  const bool taken = base::if_memory_allows([&] { owner_of(b).out.append(bytes); });
  *put = taken ? size : 0;
  return taken;
}

long control(BIO*, int what, long, void*) { return what == BIO_CTRL_FLUSH ? 1 : 0; }

int create(BIO* b) {
  BIO_set_init(b, 1);
  return 1;
}

const BIO_METHOD* method() {
  static const owned<BIO_METHOD> made = [] {
    owned<BIO_METHOD> m(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coracle records"));
    if (m) {
      BIO_meth_set_read_ex(m.get(), &read);
      BIO_meth_set_write_ex(m.get(), &write);
      BIO_meth_set_ctrl(m.get(), &control);
      BIO_meth_set_create(m.get(), &create);
    }
    return m;
  }();
  return made.get();
}

}  // namespace

BIO* record_bio::make() {
  const BIO_METHOD* m = method();
  BIO* b = m ? BIO_new(m) : nullptr;
  if (b) BIO_set_data(b, this);
  return b;
}

}  // namespace coracle::tls
