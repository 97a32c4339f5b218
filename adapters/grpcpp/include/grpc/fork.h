// Handlers of fork(), which do not exist here.
#pragma once

#include <grpcpp/impl/one_library.h>

CORACLE_GRPCPP_ABSENT("there are no fork handlers, and none are needed: make new channels in the child")
void grpc_prefork(...);
CORACLE_GRPCPP_ABSENT("there are no fork handlers, and none are needed: make new channels in the child")
void grpc_postfork_parent(...);
CORACLE_GRPCPP_ABSENT("there are no fork handlers, and none are needed: make new channels in the child")
void grpc_postfork_child(...);
CORACLE_GRPCPP_ABSENT("there are no fork handlers, and none are needed: make new channels in the child")
void grpc_fork_handlers_auto_register(...);
