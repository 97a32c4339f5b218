// The names of workarounds for clients with errors, of which there are none here.
#pragma once

#include <grpcpp/impl/one_library.h>

enum grpc_workaround_list {
  GRPC_WORKAROUND_ID_CRONET_COMPRESSION = 0,
  GRPC_MAX_WORKAROUND_ID,
};
