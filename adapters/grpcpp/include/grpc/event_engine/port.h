// Of EventEngine, which does not exist here: the addresses of the system.
#pragma once

#include <grpcpp/impl/one_library.h>
#include <netinet/in.h>
#include <sys/socket.h>
