// Everything that a server needs beside its generated header.
#pragma once

#include "coracle/base/result.hpp"
#include "coracle/coro/async_generator.hpp"
#include "coracle/coro/scope.hpp"
#include "coracle/coro/sleep.hpp"
#include "coracle/coro/stop_on.hpp"
#include "coracle/coro/when_all.hpp"
#include "coracle/coro/with_timeout.hpp"
#include "coracle/rpc/status_details.hpp"
#include "coracle/runtime/offload.hpp"
#include "coracle/runtime/runtime.hpp"
#include "coracle/security/insecure.hpp"
#include "coracle/server/serve.hpp"
#include "coracle/server/server.hpp"
#include "coracle/server/server_interceptor.hpp"
#include "coracle/server/service.hpp"
#include "coracle/services/defaults.hpp"
