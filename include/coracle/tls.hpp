// TLS for servers and channels: the credentials and their options. Link coracle::tls.
#pragma once

#include "coracle/security/auth_context.hpp"
#include "coracle/tls/client_options.hpp"
#include "coracle/tls/server_options.hpp"
