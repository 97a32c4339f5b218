// The headers that almost every program beside the tests includes, compiled once. A program still includes
// what it uses.
#pragma once

#include <google/protobuf/message.h>
#include <coracle/client.hpp>
#include <coracle/runtime.hpp>
#include <coracle/server.hpp>
