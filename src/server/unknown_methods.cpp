#include "server/unknown_methods.hpp"

#include "coracle/server/generic_service.hpp"

namespace coracle::server_internal {

namespace {

class unknown final : public generic_service {
  replies<bytes_message> call(server_context&, reader<bytes_message>) override {
    co_return status::unimplemented("the server knows no such method");
  }
};

}  // namespace

const router::row& unknown_methods() {
  static unknown service;
  static const router::row row{&service.methods().front(), &service};
  return row;
}

}  // namespace coracle::server_internal
