// The admin services, which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

namespace grpc {

CORACLE_GRPCPP_ABSENT("there are no admin services with xDS yet: use grpcpp/ext/channelz_service_plugin.h")
void AddAdminServices(...);

}  // namespace grpc
